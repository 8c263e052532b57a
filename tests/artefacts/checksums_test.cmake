# SPDX-License-Identifier: MIT
#
# The built shim is listed in the SHA256SUMS beside it, in a form that sha256sum reads.
execute_process(COMMAND sha256sum --check --strict SHA256SUMS WORKING_DIRECTORY ${FOLDER}
                OUTPUT_VARIABLE checked COMMAND_ERROR_IS_FATAL ANY)
if(NOT checked MATCHES "(^|\n)${LIBRARY}: OK\n")
  message(FATAL_ERROR "SHA256SUMS does not list ${LIBRARY}: ${checked}")
endif()
