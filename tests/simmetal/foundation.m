// SPDX-License-Identifier: MIT
#include "foundation.h"

@implementation SimRoot
+ (id)alloc {
    return class_createInstance(self, 0);
}
+ (Class)class {
    return self;
}
- (id)init {
    return self;
}
@end

@implementation SimString
+ (id)stringWithUTF8String:(const char*)value {
    SimString* string = [[self alloc] init];
    string->text = value;
    return string;
}
- (const char*)UTF8String {
    return text;
}
@end

@implementation SimError
+ (id)errorWithDescription:(const char*)text {
    SimError* error = [[self alloc] init];
    error->description = text;
    return error;
}
- (id)localizedDescription {
    return [SimString stringWithUTF8String:description];
}
@end

@implementation SimArray
- (void)addObject:(id)object {
    if (object != nil && count < sizeof objects / sizeof objects[0]) {
        objects[count++] = object;
    }
}
- (NSUInteger)count {
    return count;
}
- (id)objectAtIndex:(NSUInteger)index {
    return index < count ? objects[index] : nil;
}
@end
