/* SPDX-License-Identifier: MIT
 *
 * Apple's Objective-C runtime, as far as the shim and the target call it, on GNU's, and Metal,
 * which is simulated (tests/simmetal). Apple's runtime takes its lock in each function; GNU's gives
 * a class its own table of methods only when the class was sent a message.
 */
#include "libsystem.h"

#include <objc/message.h>
#include <objc/objc.h>
#include <objc/runtime.h>
#include <objc/thr.h>
#include <stdlib.h>

extern objc_mutex_t __objc_runtime_mutex;
extern void machload_message(void); /* entries.S */
extern id MTLCreateSystemDefaultDevice(void);
extern id MTLCopyAllDevices(void);
extern id MTLCopyAllDevicesWithObserver(id* observer, id handler);

static Class apple_object_get_class(id object) {
    return object_getClass(object); /* an inline function here */
}

static Method apple_get_instance_method(Class owner, SEL selector) {
    objc_mutex_lock(__objc_runtime_mutex);
    const Method method = class_getInstanceMethod(owner, selector);
    objc_mutex_unlock(__objc_runtime_mutex);
    return method;
}

static IMP apple_get_implementation(Method method) {
    objc_mutex_lock(__objc_runtime_mutex);
    const IMP implementation = method_getImplementation(method);
    objc_mutex_unlock(__objc_runtime_mutex);
    return implementation;
}

static int owns(Class owner, Method method) {
    const SEL selector = method_getName(method);
    const Class superclass = class_getSuperclass(owner);
    return class_getInstanceMethod(owner, selector) == method &&
           (superclass == Nil || class_getInstanceMethod(superclass, selector) != method);
}

static IMP apple_set_implementation(Method method, IMP implementation) {
    objc_mutex_lock(__objc_runtime_mutex);
    const int count = objc_getClassList(NULL, 0);
    Class* classes = calloc((size_t)count + 1, sizeof *classes);
    objc_getClassList(classes, count);
    for (int index = 0; classes != NULL && index < count; ++index) {
        if (owns(classes[index], method)) {
            class_getMethodImplementation(classes[index], method_getName(method));
        }
    }
    free(classes);
    const IMP before = method_setImplementation(method, implementation);
    objc_mutex_unlock(__objc_runtime_mutex);
    return before;
}

const struct Import kObjectiveCImports[] = {
    FUNCTION("_objc_msgSend", machload_message),
    FUNCTION("_object_getClass", apple_object_get_class),
    FUNCTION("_class_getInstanceMethod", apple_get_instance_method),
    FUNCTION("_method_getImplementation", apple_get_implementation),
    FUNCTION("_method_setImplementation", apple_set_implementation),
    FUNCTION("_class_addMethod", class_addMethod),
    FUNCTION("_class_getName", class_getName),
    FUNCTION("_class_getSuperclass", class_getSuperclass),
    FUNCTION("_method_getTypeEncoding", method_getTypeEncoding),
    FUNCTION("_objc_lookUpClass", objc_lookUpClass),
    FUNCTION("_sel_registerName", sel_registerName),
    FUNCTION("_MTLCreateSystemDefaultDevice", MTLCreateSystemDefaultDevice),
    FUNCTION("_MTLCopyAllDevices", MTLCopyAllDevices),
    FUNCTION("_MTLCopyAllDevicesWithObserver", MTLCopyAllDevicesWithObserver),
    END_OF_IMPORTS,
};
