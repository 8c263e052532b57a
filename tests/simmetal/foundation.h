// SPDX-License-Identifier: MIT
//
// As much of Foundation as the simulated Metal hands out: a root class, a string, an error, a list.
// No retain counts: what is made stays.
#pragma once

#include <objc/objc.h>
#include <objc/runtime.h>

typedef unsigned long NSUInteger;
typedef long NSInteger;

__attribute__((objc_root_class))
@interface SimRoot {
    Class isa;
}
+ (id)alloc;
+ (Class)class;
- (id)init;
@end

@interface SimString : SimRoot {
    const char* text;
}
+ (id)stringWithUTF8String:(const char*)value;
- (const char*)UTF8String;
@end

@interface SimError : SimRoot {
    const char* description;
}
+ (id)errorWithDescription:(const char*)text;
- (id)localizedDescription;
@end

@interface SimArray : SimRoot {
    id objects[2];
    NSUInteger count;
}
- (void)addObject:(id)object; // no more than two; nil is left out
- (NSUInteger)count;
- (id)objectAtIndex:(NSUInteger)index;
@end
