# SPDX-License-Identifier: MIT
#
# cmake -D FOLDER=... -P checksums.cmake - writes SHA256SUMS beside the shims in a folder, in the
# form that 'sha256sum -c' and 'shasum -a 256 -c' read.
get_filename_component(FOLDER "${FOLDER}" ABSOLUTE)
file(GLOB libraries RELATIVE "${FOLDER}"
     "${FOLDER}/libmetalrun_shim*.so" "${FOLDER}/libmetalrun_shim*.dylib")
set(sums "")
foreach(library IN LISTS libraries)
  file(SHA256 "${FOLDER}/${library}" sum)
  string(APPEND sums "${sum}  ${library}\n")
endforeach()
file(WRITE "${FOLDER}/SHA256SUMS" "${sums}")
