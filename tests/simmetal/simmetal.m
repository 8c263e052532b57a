// SPDX-License-Identifier: MIT
//
// Metal as a macOS guest shows it, simulated for tests on GNU's Objective-C runtime without
// Foundation: the class hierarchy, the order of initialisation and the answers that are publicly
// known of AppleParavirtDevice. Nothing can be computed with it. Whatever uses it can tell by the
// symbol metalrun_simulated_metal, and must say so in what it reports.
//
// SIMMETAL_PROFILE=6..10 chooses the feature profile (6, Apple5 and Common3, is the stock guest),
// SIMMETAL_DEVICE=none a machine without a device.
#include <objc/objc.h>
#include <objc/runtime.h>

#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

typedef unsigned long NSUInteger;
typedef long NSInteger;

EXPORTED const char metalrun_simulated_metal[] = "simulated Metal for tests";

__attribute__((objc_root_class))
@interface SimRoot {
    Class isa;
}
+ (id)alloc;
- (id)init;
@end

@implementation SimRoot
+ (id)alloc {
    return class_createInstance(self, 0);
}
- (id)init {
    return self;
}
@end

// As much of NSString as a device's name needs.
@interface SimString : SimRoot {
    const char* text;
}
- (id)initWithText:(const char*)value;
- (const char*)UTF8String;
@end

@implementation SimString
- (id)initWithText:(const char*)value {
    text = value;
    return self;
}
- (const char*)UTF8String {
    return text;
}
@end

// As much of NSArray as a list of devices needs.
@interface SimArray : SimRoot {
    id object;
}
- (id)initWithObject:(id)value;
- (NSUInteger)count;
- (id)objectAtIndex:(NSUInteger)index;
@end

@implementation SimArray
- (id)initWithObject:(id)value {
    object = value;
    return self;
}
- (NSUInteger)count {
    return object == nil ? 0 : 1;
}
- (id)objectAtIndex:(NSUInteger)index {
    return index == 0 ? object : nil;
}
@end

@interface _MTLDevice : SimRoot {
    NSInteger featureProfile;
    NSInteger families[32];
    NSUInteger familyCount;
    NSUInteger threadgroupLimit;
    // What Metal keeps from the answers it gets while the device is made.
    BOOL requiresBFloat16Emulation;
    BOOL supportsReadWriteTextures;
    BOOL supportsBFloat16Buffers;
    BOOL supportsLossyCompression;
}
- (void)initLimits;
- (void)initFeatureQueries;
- (void)initGPUFamilySupport;
- (BOOL)supportsFamily:(NSInteger)family;
- (NSUInteger)maxThreadgroupMemoryLength;
- (BOOL)requiresBFloat16Emulation;
- (BOOL)supportsReadWriteTextures;
- (BOOL)supportsBFloat16Buffers;
- (BOOL)supportsLossyCompression;
@end

static NSInteger chosenProfile(void) {
    const char* text = getenv("SIMMETAL_PROFILE");
    const long profile = text == NULL ? 6 : strtol(text, NULL, 10);
    return profile >= 6 && profile <= 10 ? profile : 6;
}

@implementation _MTLDevice
- (id)init {
    featureProfile = chosenProfile();
    [self initLimits];
    [self initFeatureQueries];
    return self;
}
// The limits come from the profile, never from the getter that a program can see.
- (void)initLimits {
    threadgroupLimit = 32768;
}
- (void)initFeatureQueries {
    [self initGPUFamilySupport];
    requiresBFloat16Emulation = ![self supportsFamily:1009];
    supportsReadWriteTextures = [self supportsFamily:1004];
    supportsBFloat16Buffers = [self supportsFamily:1006];
    supportsLossyCompression = [self supportsFamily:1008];
}
- (void)initGPUFamilySupport {
    familyCount = 0;
    for (NSInteger family = 1001; family <= 999 + featureProfile; ++family) {
        families[familyCount++] = family;
    }
    for (NSInteger family = 3001; family <= 3003; ++family) {
        families[familyCount++] = family;
    }
}
- (BOOL)supportsFamily:(NSInteger)family {
    for (NSUInteger index = 0; index < familyCount; ++index) {
        if (families[index] == family) {
            return YES;
        }
    }
    return NO;
}
- (NSUInteger)maxThreadgroupMemoryLength {
    return threadgroupLimit;
}
- (BOOL)requiresBFloat16Emulation {
    return requiresBFloat16Emulation;
}
- (BOOL)supportsReadWriteTextures {
    return supportsReadWriteTextures;
}
- (BOOL)supportsBFloat16Buffers {
    return supportsBFloat16Buffers;
}
- (BOOL)supportsLossyCompression {
    return supportsLossyCompression;
}
@end

// The three levels own different methods, so that a shim meets inherited ones and overrides.
@interface IOGPUMetalDevice : _MTLDevice
- (NSUInteger)recommendedMaxWorkingSetSize;
- (NSUInteger)maxBufferLength;
- (NSUInteger)currentAllocatedSize;
- (BOOL)hasUnifiedMemory;
@end

@implementation IOGPUMetalDevice
- (NSUInteger)recommendedMaxWorkingSetSize {
    return 5010800640;
}
- (NSUInteger)maxBufferLength {
    return 3758100480;
}
- (NSUInteger)currentAllocatedSize {
    return 0;
}
- (BOOL)hasUnifiedMemory {
    return YES;
}
@end

@interface AppleParavirtDevice : IOGPUMetalDevice {
    id name;
}
- (id)name;
@end

@implementation AppleParavirtDevice
- (id)init {
    [super init];
    // After the base class: whoever asks for it earlier gets nil, as a driver may do or worse.
    name = [[SimString alloc] initWithText:"Apple Paravirtual device"];
    return self;
}
- (id)name {
    return name;
}
- (NSUInteger)maxThreadgroupMemoryLength {
    return threadgroupLimit;
}
@end

// One device for the process. Threads that come first at the same time each make one, and all but
// the first published are thrown away: making devices must be safe in parallel.
EXPORTED id MTLCreateSystemDefaultDevice(void) {
    static void* shared = NULL;
    const char* wanted = getenv("SIMMETAL_DEVICE");
    if (wanted != NULL && strcmp(wanted, "none") == 0) {
        return nil;
    }
    void* device = __atomic_load_n(&shared, __ATOMIC_ACQUIRE);
    if (device == NULL) {
        id made = [[AppleParavirtDevice alloc] init];
        if (__atomic_compare_exchange_n(&shared, &device, (void*)made, 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE)) {
            return made;
        }
        object_dispose(made);
    }
    return (id)device;
}

EXPORTED id MTLCopyAllDevices(void) {
    return [[SimArray alloc] initWithObject:MTLCreateSystemDefaultDevice()];
}

EXPORTED id MTLCopyAllDevicesWithObserver(id* observer, id handler) {
    (void)handler;
    *observer = nil;
    return MTLCopyAllDevices();
}
