# SPDX-License-Identifier: MIT
#
# The shim must be small enough to be read in one sitting, and must do nothing that its readers would
# have to look for: LIMIT lines that are neither blank nor only a comment, no heap, no containers, no
# locks, no other threads, and of each built library exactly the imports that are written down.
# SHIM: its folder, STAND_IN: what stands in for Apple's runtime on Linux (not shipped, not counted),
# NATIVE, MACOS: libraries, NATIVE_IMPORTS, MACOS_IMPORTS: the lists, NM, LLVM_NM: tools; the libraries
# may be missing.
cmake_minimum_required(VERSION 3.25)
set(LIMIT 500)
set(heap_and_containers "malloc|calloc|realloc|free|strdup|new|delete|std::(string|vector|deque|list|map|set"
    "|unordered_[a-z_]+|function|any|shared_ptr|unique_ptr|make_[a-z_]+)")
set(locks_and_threads "pthread_[a-z_]+|os_unfair_lock[a-z_]*|dispatch_[a-z_]+|std::[a-z_]*(mutex|lock|thread|call_once"
    "|condition_variable)[a-z_]*")
string(JOIN "" forbidden ${heap_and_containers} "|" ${locks_and_threads})
# What may be found nevertheless, whole lines, and why:
# the lock of GNU's runtime, which that runtime does not take itself, cannot be copied.
set(allowed "    RuntimeLock(const RuntimeLock&) = delete" "    RuntimeLock& operator=(const RuntimeLock&) = delete")

# code_of FILE - its lines, without blank ones and those that are only a comment.
function(code_of file result)
  file(READ ${file} text)
  string(REGEX REPLACE ";" "" text "${text}")
  string(REGEX REPLACE "[][]" " " text "${text}") # brackets would join the elements of a list
  string(REGEX REPLACE "\\\\\n" "\n" text "${text}")
  string(REPLACE "\n" ";" lines "${text}")
  list(FILTER lines EXCLUDE REGEX "^ *(//.*)?$")
  set(${result} "${lines}" PARENT_SCOPE)
endfunction()

function(refuse_forbidden file)
  code_of(${file} lines)
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "//.*" "" code "${line}")
    if(" ${code} " MATCHES "[^A-Za-z0-9_\"](${forbidden})[^A-Za-z0-9_\"]" AND NOT line IN_LIST allowed)
      message(SEND_ERROR "${file}: '${CMAKE_MATCH_1}' is not for the shim: ${line}")
    endif()
  endforeach()
endfunction()

file(GLOB sources ${SHIM}/*.cpp ${SHIM}/*.hpp)
set(total 0)
foreach(source IN LISTS sources)
  code_of(${source} lines)
  list(LENGTH lines count)
  cmake_path(GET source FILENAME name)
  message("audit  ${name}: ${count} lines")
  math(EXPR total "${total} + ${count}")
  refuse_forbidden(${source})
endforeach()
if(total LESS 300 OR NOT total LESS LIMIT) # few: they were not found
  message(SEND_ERROR "the shim has ${total} lines, not fewer than ${LIMIT}")
endif()
code_of(${STAND_IN} lines)
list(LENGTH lines count)
message("audit  the shim: ${total} lines, under ${LIMIT}; not counted, for Linux alone: ${count}")
refuse_forbidden(${STAND_IN})

# The list: symbols that are imported, and behind a line that begins with "# what compiler" those
# that a compiler may choose.
function(compare_imports library list)
  if(NOT EXISTS "${library}")
    message("audit  imports: skipped, there is no '${library}'")
    return()
  endif()
  execute_process(COMMAND ${ARGN} ${library} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[A-Za-z_][A-Za-z0-9_$@.]*\n" found " ${text}")
  list(TRANSFORM found REPLACE "(@.*|.INODE64)?\n" "")
  file(STRINGS ${list} lines)
  set(chosen FALSE)
  foreach(line IN LISTS lines)
    if(line MATCHES "^# what compiler")
      set(chosen TRUE)
    elseif(NOT line MATCHES "^(#.*)?$")
      list(APPEND listed ${line})
      if(NOT chosen)
        list(APPEND wanted ${line})
      endif()
    endif()
  endforeach()
  if(library MATCHES "dylib$")
    list(TRANSFORM found REPLACE "^_(.*)" "\\1")
  endif()
  foreach(symbol IN LISTS found)
    if(NOT symbol IN_LIST listed)
      message(SEND_ERROR "${library} imports '${symbol}', which ${list} does not list")
    endif()
  endforeach()
  foreach(symbol IN LISTS wanted)
    if(NOT symbol IN_LIST found)
      message(SEND_ERROR "${library} does not import '${symbol}', which ${list} lists")
    endif()
  endforeach()
  list(LENGTH found count)
  message("audit  ${library}: ${count} imports, as listed")
endfunction()

if(NATIVE)
  compare_imports(${NATIVE} ${NATIVE_IMPORTS} ${NM} -D -u -j)
endif()
if(LLVM_NM)
  foreach(library IN LISTS MACOS)
    compare_imports(${library} ${MACOS_IMPORTS} ${LLVM_NM} -u -j)
  endforeach()
endif()
