/* SPDX-License-Identifier: MIT
 *
 * Threads: glibc's objects fit into Darwin's, which begin with a signature word when they were
 * initialised statically. Source: pthread_impl.h.
 */
#define _GNU_SOURCE 1
#include "libsystem.h"

#include <pthread.h>
#include <string.h>

enum { kDarwinMutex = 64, kDarwinCondition = 48, kDarwinLock = 200 };
_Static_assert(sizeof(pthread_mutex_t) <= kDarwinMutex, "a mutex fits");
_Static_assert(sizeof(pthread_cond_t) <= kDarwinCondition, "a condition fits");
_Static_assert(sizeof(pthread_rwlock_t) <= kDarwinLock, "a lock fits");

/* glibc's initialisers are zero throughout. Two threads may come here at once: the signature goes
 * last, by exchange, so that neither wipes what the other has already locked. */
static void adopt(void* object, uint64_t signature) {
    uint64_t expected = signature;
    __atomic_compare_exchange_n((uint64_t*)object, &expected, 0, 0, __ATOMIC_ACQ_REL,
                                __ATOMIC_ACQUIRE);
}

static pthread_mutex_t* mutex_of(void* object) {
    adopt(object, 0x32AAABA7);
    return object;
}

static pthread_cond_t* condition_of(void* object) {
    adopt(object, 0x3CB0B1BB);
    return object;
}

static pthread_rwlock_t* lock_of(void* object) {
    adopt(object, 0x2DA8B3B4);
    return object;
}

static int darwin_mutex_init(void* mutex, const void* attributes) {
    return attributes == NULL ? pthread_mutex_init(mutex, NULL) : 45 /* ENOTSUP */;
}

static int darwin_mutex_lock(void* mutex) {
    return darwin_error_of(pthread_mutex_lock(mutex_of(mutex)));
}

static int darwin_mutex_unlock(void* mutex) {
    return darwin_error_of(pthread_mutex_unlock(mutex_of(mutex)));
}

static int darwin_mutex_destroy(void* mutex) {
    return darwin_error_of(pthread_mutex_destroy(mutex_of(mutex)));
}

static int darwin_condition_init(void* condition, const void* attributes) {
    return attributes == NULL ? pthread_cond_init(condition, NULL) : 45 /* ENOTSUP */;
}

static int darwin_condition_wait(void* condition, void* mutex) {
    return darwin_error_of(pthread_cond_wait(condition_of(condition), mutex_of(mutex)));
}

static int darwin_condition_signal(void* condition) {
    return pthread_cond_signal(condition_of(condition));
}

static int darwin_condition_broadcast(void* condition) {
    return pthread_cond_broadcast(condition_of(condition));
}

static int darwin_condition_destroy(void* condition) {
    return pthread_cond_destroy(condition_of(condition));
}

static int darwin_lock_read(void* lock) {
    return darwin_error_of(pthread_rwlock_rdlock(lock_of(lock)));
}

static int darwin_lock_write(void* lock) {
    return darwin_error_of(pthread_rwlock_wrlock(lock_of(lock)));
}

static int darwin_lock_unlock(void* lock) {
    return darwin_error_of(pthread_rwlock_unlock(lock_of(lock)));
}

static int darwin_create(pthread_t* thread, const void* attributes, void* (*start)(void*),
                         void* argument) {
    return attributes == NULL ? darwin_error_of(pthread_create(thread, NULL, start, argument)) : 45;
}

static int darwin_key_create(unsigned long* key, void (*destroy)(void*)) {
    pthread_key_t own = 0;
    const int failed = pthread_key_create(&own, destroy);
    *key = own;
    return darwin_error_of(failed);
}

static int darwin_key_delete(unsigned long key) {
    return darwin_error_of(pthread_key_delete((pthread_key_t)key));
}

static void* darwin_get(unsigned long key) {
    return pthread_getspecific((pthread_key_t)key);
}

static int darwin_set(unsigned long key, const void* value) {
    return darwin_error_of(pthread_setspecific((pthread_key_t)key, value));
}

static unsigned darwin_mach_thread(pthread_t thread) {
    return (unsigned)thread | 1U; /* any number that is not null */
}

const struct Import kThreadImports[] = {
    FUNCTION("_pthread_mutex_init", darwin_mutex_init),
    FUNCTION("_pthread_mutex_lock", darwin_mutex_lock),
    FUNCTION("_pthread_mutex_unlock", darwin_mutex_unlock),
    FUNCTION("_pthread_mutex_destroy", darwin_mutex_destroy),
    FUNCTION("_pthread_cond_init", darwin_condition_init),
    FUNCTION("_pthread_cond_wait", darwin_condition_wait),
    FUNCTION("_pthread_cond_signal", darwin_condition_signal),
    FUNCTION("_pthread_cond_broadcast", darwin_condition_broadcast),
    FUNCTION("_pthread_cond_destroy", darwin_condition_destroy),
    FUNCTION("_pthread_rwlock_rdlock", darwin_lock_read),
    FUNCTION("_pthread_rwlock_wrlock", darwin_lock_write),
    FUNCTION("_pthread_rwlock_unlock", darwin_lock_unlock),
    FUNCTION("_pthread_create", darwin_create),
    FUNCTION("_pthread_detach", pthread_detach),
    FUNCTION("_pthread_join", pthread_join),
    FUNCTION("_pthread_self", pthread_self),
    FUNCTION("_pthread_key_create", darwin_key_create),
    FUNCTION("_pthread_key_delete", darwin_key_delete),
    FUNCTION("_pthread_getspecific", darwin_get),
    FUNCTION("_pthread_setspecific", darwin_set),
    FUNCTION("_pthread_mach_thread_np", darwin_mach_thread),
    END_OF_IMPORTS,
};
