/* SPDX-License-Identifier: MIT
 *
 * Entry points that no compiler makes. Both call a C function and keep every register that may
 * hold an argument.
 *
 * machload_thread_variable: what Darwin's compilers call for the address of a thread-local
 * variable. The descriptor comes in rdi or x0, the address goes back in rax or x0, all other
 * registers stay.
 *
 * machload_message: objc_msgSend. Asks GNU's objc_msg_lookup and jumps there.
 */
    .text
    .globl machload_thread_variable
    .globl machload_message

#if defined(__x86_64__)

machload_thread_variable:
    push %rbp
    mov %rsp, %rbp
    push %rcx
    push %rdx
    push %rsi
    push %rdi
    push %r8
    push %r9
    push %r10
    push %r11
    sub $256, %rsp
    .irp number, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    movups %xmm\number, 16*\number(%rsp)
    .endr
    call machload_find_thread_variable
    .irp number, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    movups 16*\number(%rsp), %xmm\number
    .endr
    add $256, %rsp
    pop %r11
    pop %r10
    pop %r9
    pop %r8
    pop %rdi
    pop %rsi
    pop %rdx
    pop %rcx
    pop %rbp
    ret

machload_message:
    push %rbp
    mov %rsp, %rbp
    sub $192, %rsp
    mov %rdi, 128(%rsp)
    mov %rsi, 136(%rsp)
    mov %rdx, 144(%rsp)
    mov %rcx, 152(%rsp)
    mov %r8, 160(%rsp)
    mov %r9, 168(%rsp)
    mov %rax, 176(%rsp)
    .irp number, 0,1,2,3,4,5,6,7
    movups %xmm\number, 16*\number(%rsp)
    .endr
    call objc_msg_lookup
    mov %rax, %r11
    .irp number, 0,1,2,3,4,5,6,7
    movups 16*\number(%rsp), %xmm\number
    .endr
    mov 128(%rsp), %rdi
    mov 136(%rsp), %rsi
    mov 144(%rsp), %rdx
    mov 152(%rsp), %rcx
    mov 160(%rsp), %r8
    mov 168(%rsp), %r9
    mov 176(%rsp), %rax
    leave
    jmp *%r11

#else

    .macro save first, second, at
    stp x\first, x\second, [sp, #\at]
    .endm
    .macro restore first, second, at
    ldp x\first, x\second, [sp, #\at]
    .endm
    .macro vectors instruction
    \instruction q0, q1, [sp, #160]
    \instruction q2, q3, [sp, #192]
    \instruction q4, q5, [sp, #224]
    \instruction q6, q7, [sp, #256]
    .endm

machload_thread_variable:
    stp x29, x30, [sp, #-288]!
    mov x29, sp
    save 1, 2, 16
    save 3, 4, 32
    save 5, 6, 48
    save 7, 8, 64
    save 9, 10, 80
    save 11, 12, 96
    save 13, 14, 112
    save 15, 16, 128
    str x17, [sp, #144]
    vectors stp
    bl machload_find_thread_variable
    vectors ldp
    ldr x17, [sp, #144]
    restore 15, 16, 128
    restore 13, 14, 112
    restore 11, 12, 96
    restore 9, 10, 80
    restore 7, 8, 64
    restore 5, 6, 48
    restore 3, 4, 32
    restore 1, 2, 16
    ldp x29, x30, [sp], #288
    ret

machload_message:
    stp x29, x30, [sp, #-288]!
    mov x29, sp
    save 0, 1, 16
    save 2, 3, 32
    save 4, 5, 48
    save 6, 7, 64
    str x8, [sp, #80]
    vectors stp
    bl objc_msg_lookup
    mov x16, x0
    vectors ldp
    ldr x8, [sp, #80]
    restore 6, 7, 64
    restore 4, 5, 48
    restore 2, 3, 32
    restore 0, 1, 16
    ldp x29, x30, [sp], #288
    br x16

#endif
    .section .note.GNU-stack, "", %progbits
