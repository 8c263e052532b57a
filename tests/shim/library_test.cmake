# SPDX-License-Identifier: MIT
#
# The built library needs the Objective-C runtime and the C library, nothing else; it stays loaded,
# and it carries the mark by which it is known.
execute_process(COMMAND ${READELF} -dW ${LIBRARY} OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "NEEDED[^\n]*" needed "${dynamic}")
foreach(line IN LISTS needed)
  if(NOT line MATCHES "\\[(libobjc|libc|libdl|ld-linux[-a-z0-9_]*)\\.so")
    message(FATAL_ERROR "the shim depends on more than it may: ${line}")
  endif()
endforeach()
if(NOT dynamic MATCHES "NODELETE")
  message(FATAL_ERROR "the shim could be unloaded under its hooks")
endif()
execute_process(COMMAND ${READELF} -nW ${LIBRARY} OUTPUT_VARIABLE notes COMMAND_ERROR_IS_FATAL ANY)
if(NOT notes MATCHES "metalrun +0x00000004[^\n]*\n?[^\n]*73 68 69 6d")
  message(FATAL_ERROR "the note 'metalrun' with 'shim' is missing: ${notes}")
endif()
execute_process(COMMAND ${READELF} -lW ${LIBRARY} OUTPUT_VARIABLE segments COMMAND_ERROR_IS_FATAL ANY)
if(NOT segments MATCHES "\\.note\\.metalrun")
  message(FATAL_ERROR "the note is in no segment")
endif()
