// SPDX-License-Identifier: MIT
//
// Metal as a macOS guest shows it, simulated for tests on GNU's Objective-C runtime without
// Foundation: the class hierarchy, the order of initialisation and the answers that are publicly
// known of AppleParavirtDevice. Nothing can be computed with it. Whatever uses it can tell by the
// symbol metalrun_simulated_metal, and must say so in what it reports.
//
// | variable           | value             | what is simulated                                    |
// | ------------------ | ----------------- | ---------------------------------------------------- |
// | SIMMETAL_PROFILE   | 6 (default) to 10 | feature profile of Apple 5 (the stock guest) to 9    |
// |                    | 10001             | a device of Mac 2 only                               |
// |                    | 10002             | one of Mac 2 and Metal 3                             |
// | SIMMETAL_MACOS     | 12 to 26 (26)     | 12: not Mac 2; 13: no bfloat kernels; 14: no         |
// |                    |                   | argument encoder for a layout; from 15: residency    |
// |                    |                   | sets are asked for                                   |
// | SIMMETAL_RESIDENCY | nil (default)     | no residency set, and an error that says so          |
// |                    | nil-without-error | no residency set, the error is not written           |
// |                    | yes               | residency sets are made, as on hardware              |
// | SIMMETAL_PIPELINES | fail              | the guest is wedged: no pipeline can be made         |
// | SIMMETAL_DEVICE    | none              | no device at all                                     |
// |                    | listed-only       | no default device, but the list has it               |
// |                    | two               | the list has a second device, of another class       |
//
// An unknown value counts as the default.
#include "foundation.h"

#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED const char metalrun_simulated_metal[] = "simulated Metal for tests";

static BOOL isSet(const char* variable, const char* value) {
    const char* text = getenv(variable);
    return text != NULL && strcmp(text, value) == 0;
}

static long numberIn(const char* variable, long otherwise) {
    const char* text = getenv(variable);
    return text == NULL ? otherwise : strtol(text, NULL, 10);
}

// The major version of the simulated guest's system.
EXPORTED long metalrun_simulated_macos(void) {
    const long version = numberIn("SIMMETAL_MACOS", 26);
    return version >= 12 && version <= 26 ? version : 26;
}

enum { kFirstProfile = 6, kLastProfile = 10, kMac2Profile = 10001, kMetal3Profile = 10002 };

static NSInteger chosenProfile(void) {
    const long profile = numberIn("SIMMETAL_PROFILE", kFirstProfile);
    const BOOL isMac = profile == kMac2Profile || profile == kMetal3Profile;
    return isMac || (profile >= kFirstProfile && profile <= kLastProfile) ? profile : kFirstProfile;
}

// A library has every function, but those of bfloat where the language does not know it (MSL 3.1).
@interface SimFunction : SimRoot
@end
@implementation SimFunction
@end

@interface SimLibrary : SimRoot
- (id)newFunctionWithName:(id)name;
@end

@implementation SimLibrary
- (id)newFunctionWithName:(id)name {
    const BOOL isMissing =
        metalrun_simulated_macos() < 14 && strstr([name UTF8String], "bf16") != NULL;
    return isMissing ? nil : [[SimFunction alloc] init];
}
@end

@interface SimArchitecture : SimRoot
- (id)name;
@end

@implementation SimArchitecture
- (id)name {
    return [SimString
        stringWithUTF8String:metalrun_simulated_macos() < 15 ? "air64_v26" : "air64_v27"];
}
@end

@interface _MTLDevice : SimRoot {
    NSInteger featureProfile;
    NSInteger families[32];
    NSUInteger familyCount;
    NSUInteger threadgroupLimit;
    // What Metal keeps from the answers it gets while the device is made.
    BOOL supportsUnalignedVertexFetch;
    BOOL supportsBFloat16Buffers;
    BOOL supportsGlobalRelocation;
    BOOL supportsLossyCompression;
    BOOL supportsReadWriteTextures;
    BOOL requiresBFloat16Emulation;
}
- (void)initLimits;
- (void)initFeatureQueries;
- (void)initGPUFamilySupport;
- (BOOL)supportsFamily:(NSInteger)family;
- (NSUInteger)maxThreadgroupMemoryLength;
- (BOOL)supportsUnalignedVertexFetch;
- (BOOL)supportsBFloat16Buffers;
- (BOOL)supportsGlobalRelocation;
- (BOOL)supportsLossyCompression;
- (BOOL)supportsReadWriteTextures;
- (BOOL)requiresBFloat16Emulation;
@end

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
    supportsUnalignedVertexFetch = [self supportsFamily:1005];
    supportsBFloat16Buffers = [self supportsFamily:1006];
    supportsGlobalRelocation = [self supportsFamily:1006];
    supportsLossyCompression = [self supportsFamily:1008];
    supportsReadWriteTextures = [self supportsFamily:1004];
    requiresBFloat16Emulation = ![self supportsFamily:1009];
}
- (void)addFamiliesFrom:(NSInteger)first to:(NSInteger)last {
    for (NSInteger family = first; family <= last; ++family) {
        families[familyCount++] = family;
    }
}
- (void)initGPUFamilySupport {
    familyCount = 0;
    [self addFamiliesFrom:3001 to:3003];
    if (featureProfile <= kLastProfile) {
        [self addFamiliesFrom:1001 to:999 + featureProfile];
    }
    if (featureProfile >= kMac2Profile || metalrun_simulated_macos() > 12) {
        [self addFamiliesFrom:2002 to:2002];
    }
    if (featureProfile == kMetal3Profile) {
        [self addFamiliesFrom:5001 to:5001];
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
- (BOOL)supportsUnalignedVertexFetch {
    return supportsUnalignedVertexFetch;
}
- (BOOL)supportsBFloat16Buffers {
    return supportsBFloat16Buffers;
}
- (BOOL)supportsGlobalRelocation {
    return supportsGlobalRelocation;
}
- (BOOL)supportsLossyCompression {
    return supportsLossyCompression;
}
- (BOOL)supportsReadWriteTextures {
    return supportsReadWriteTextures;
}
- (BOOL)requiresBFloat16Emulation {
    return requiresBFloat16Emulation;
}
@end

// The three levels own different methods, so that a shim meets inherited ones and overrides.
@interface IOGPUMetalDevice : _MTLDevice
- (NSUInteger)recommendedMaxWorkingSetSize;
- (NSUInteger)maxBufferLength;
- (NSUInteger)currentAllocatedSize;
- (BOOL)hasUnifiedMemory;
- (NSUInteger)location;
- (id)newLibraryWithSource:(id)source options:(id)options error:(id*)error;
- (id)newComputePipelineStateWithFunction:(id)function error:(id*)error;
- (id)newAccelerationStructureWithSize:(NSUInteger)size;
- (BOOL)simulateDispatchWithThreadgroupMemory:(NSUInteger)length;
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
- (NSUInteger)location {
    return 0; // built in
}
- (id)newLibraryWithSource:(id)source options:(id)options error:(id*)error {
    (void)source, (void)options, (void)error;
    return [[SimLibrary alloc] init];
}
- (id)newComputePipelineStateWithFunction:(id)function error:(id*)error {
    if (isSet("SIMMETAL_PIPELINES", "fail")) {
        *error = [SimError errorWithDescription:"simulated: the compiler does not answer"];
        return nil;
    }
    return function;
}
// Ray tracing is hardware that the paravirtual device has not.
- (id)newAccelerationStructureWithSize:(NSUInteger)size {
    (void)size;
    return nil;
}
// Stands for encoding, commit and validation: whether the GPU has as much threadgroup memory.
- (BOOL)simulateDispatchWithThreadgroupMemory:(NSUInteger)length {
    return length <= threadgroupLimit;
}
@end

@interface AppleParavirtDevice : IOGPUMetalDevice {
    id name;
}
- (id)name;
@end

// What only some systems have.
static id newArgumentEncoder(id self, SEL command, id layout) {
    (void)self, (void)command, (void)layout;
    return [[SimRoot alloc] init];
}

static id newResidencySet(id self, SEL command, id descriptor, id* error) {
    (void)self, (void)command, (void)descriptor;
    if (isSet("SIMMETAL_RESIDENCY", "yes")) {
        return [[SimRoot alloc] init];
    }
    if (!isSet("SIMMETAL_RESIDENCY", "nil-without-error")) {
        *error = [SimError errorWithDescription:"simulated: residency sets are not supported"];
    }
    return nil;
}

static id architecture(id self, SEL command) {
    (void)self, (void)command;
    return [[SimArchitecture alloc] init];
}

@implementation AppleParavirtDevice
+ (void)load {
    const long version = metalrun_simulated_macos();
    if (version != 14) {
        class_addMethod(self, sel_registerName("newArgumentEncoderWithLayout:"),
                        (IMP)(void (*)(void))newArgumentEncoder, "@24@0:8@16");
    }
    if (version >= 14) {
        class_addMethod(self, sel_registerName("architecture"), (IMP)(void (*)(void))architecture,
                        "@16@0:8");
    }
    if (version >= 15) {
        class_addMethod(self, sel_registerName("newResidencySetWithDescriptor:error:"),
                        (IMP)(void (*)(void))newResidencySet, "@32@0:8@16^@24");
    }
}
- (id)init {
    [super init];
    // After the base class: whoever asks for it earlier gets nil, as a driver may do or worse.
    name = [SimString stringWithUTF8String:"Apple Paravirtual device"];
    return self;
}
- (id)name {
    return name;
}
- (NSUInteger)maxThreadgroupMemoryLength {
    return threadgroupLimit;
}
@end

// A second device, which no guest is known to have: another class, everything but a name inherited.
@interface SimSecondDevice : IOGPUMetalDevice
- (id)name;
@end

@implementation SimSecondDevice
- (id)name {
    return [SimString stringWithUTF8String:"simulated second device"];
}
@end

// One device of its class for the process. Threads that come first at the same time each make one,
// and all but the first published are thrown away: making devices must be safe in parallel.
static id sharedDevice(void** shared, Class deviceClass) {
    void* device = __atomic_load_n(shared, __ATOMIC_ACQUIRE);
    if (device == NULL) {
        id made = [[deviceClass alloc] init];
        if (__atomic_compare_exchange_n(shared, &device, (void*)made, 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE)) {
            return made;
        }
        object_dispose(made);
    }
    return (id)device;
}

static id paravirtualDevice(void) {
    static void* shared = NULL;
    return isSet("SIMMETAL_DEVICE", "none") ? nil
                                            : sharedDevice(&shared, [AppleParavirtDevice class]);
}

EXPORTED id MTLCreateSystemDefaultDevice(void) {
    return isSet("SIMMETAL_DEVICE", "listed-only") ? nil : paravirtualDevice();
}

EXPORTED id MTLCopyAllDevices(void) {
    static void* second = NULL;
    SimArray* devices = [[SimArray alloc] init];
    [devices addObject:paravirtualDevice()];
    if (isSet("SIMMETAL_DEVICE", "two")) {
        [devices addObject:sharedDevice(&second, [SimSecondDevice class])];
    }
    return devices;
}

EXPORTED id MTLCopyAllDevicesWithObserver(id* observer, id handler) {
    (void)handler;
    *observer = nil;
    return MTLCopyAllDevices();
}
