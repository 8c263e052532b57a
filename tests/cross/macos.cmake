# SPDX-License-Identifier: MIT
#
# Toolchain file: programs for macOS 13 from Debian, with clang 19, ld64.lld 19 and the SDK that
# sdk.sh lays out. One architecture a build (CMAKE_OSX_ARCHITECTURES: arm64 or x86_64); build.sh
# joins them.
set(CMAKE_SYSTEM_NAME Darwin)
set(CMAKE_SYSTEM_VERSION 22.0) # Darwin 22 is macOS 13
if(NOT CMAKE_OSX_ARCHITECTURES)
  set(CMAKE_OSX_ARCHITECTURES arm64 CACHE STRING "One architecture")
endif()
set(CMAKE_SYSTEM_PROCESSOR ${CMAKE_OSX_ARCHITECTURES})
set(CMAKE_OSX_DEPLOYMENT_TARGET 13.0 CACHE STRING "The oldest macOS that can run it")

get_filename_component(METALRUN_CROSS_DIR ${CMAKE_CURRENT_LIST_DIR}/../../build/cross ABSOLUTE)
set(METALRUN_MACOS_SDK ${METALRUN_CROSS_DIR}/sdk CACHE PATH "The folder that sdk.sh laid out")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES METALRUN_MACOS_SDK CMAKE_OSX_ARCHITECTURES)
set(CMAKE_OSX_SYSROOT ${METALRUN_MACOS_SDK} CACHE PATH "" FORCE)

set(CMAKE_C_COMPILER clang-19)
set(CMAKE_CXX_COMPILER clang++-19)
foreach(language C CXX)
  set(CMAKE_${language}_COMPILER_TARGET
      ${CMAKE_OSX_ARCHITECTURES}-apple-macos${CMAKE_OSX_DEPLOYMENT_TARGET})
endforeach()
set(CMAKE_AR llvm-ar-19 CACHE STRING "")
set(CMAKE_RANLIB llvm-ranlib-19 CACHE STRING "")
find_program(CMAKE_INSTALL_NAME_TOOL llvm-install-name-tool-19 REQUIRED)
find_program(CMAKE_STRIP llvm-strip-19)
# The linker signs arm64 programs by itself, Intel ones when told. Nothing else here can sign.
foreach(kind EXE SHARED MODULE)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT "-fuse-ld=lld -Wl,-adhoc_codesign")
endforeach()

set(CMAKE_FIND_ROOT_PATH ${METALRUN_MACOS_SDK} ${METALRUN_MACOS_SDK}/usr/local)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
