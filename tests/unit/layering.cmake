# SPDX-License-Identifier: MIT
#
# The shape of the house (DESIGN: one user per library, one seam): fails on an include or a cast in
# the wrong room.
set(broken 0)

function(only_in pattern what)
  file(GLOB_RECURSE files RELATIVE ${SOURCE} ${SOURCE}/launcher/*.cpp ${SOURCE}/launcher/*.hpp
       ${SOURCE}/shim/*.cpp ${SOURCE}/shim/*.hpp)
  set(found 0)
  foreach(file ${files})
    file(STRINGS ${SOURCE}/${file} lines REGEX "${pattern}")
    if(NOT lines)
      continue()
    endif()
    math(EXPR found "${found} + 1")
    set(allowed FALSE)
    foreach(place ${ARGN})
      if(file MATCHES "${place}")
        set(allowed TRUE)
      endif()
    endforeach()
    if(NOT allowed)
      message(SEND_ERROR "${file}: ${what} belongs to ${ARGN} only: ${lines}")
    endif()
  endforeach()
  message(STATUS "${what}: ${found} file(s), all in ${ARGN}")
endfunction()

only_in("#include <toml\\+\\+/" "toml++" "^launcher/profile/toml\\.cpp$")
only_in("#include <boost/program_options" "Boost.Program_options" "^launcher/cli/command_line\\.cpp$")
only_in("#include <boost/(process|asio)" "Boost.Process" "^launcher/system/helper\\.cpp$")
only_in("#include <boost/json" "Boost.JSON" "^launcher/report/json\\.cpp$")
only_in("#include <fmt/format" "{fmt}'s implementation" "^launcher/report/text\\.cpp$")
only_in("#include <pugixml" "pugixml" "^launcher/macho/property_list\\.cpp$")
only_in("#include <nettle/" "nettle" "^launcher/system/digest\\.cpp$")
only_in("^ *# *(if|elif|ifdef|ifndef).*__APPLE__" "__APPLE__" "^launcher/system/" "^shim/runtime\\.hpp$")
only_in("reinterpret_cast<" "reinterpret_cast" "^launcher/macho/bytes\\.hpp$"
        "^launcher/system/digest\\.cpp$" "^shim/")
only_in("#include <(unistd|fcntl|spawn|dirent|sys/[a-z]+)\\.h>" "system headers" "^launcher/system/"
        "^shim/" "^launcher/profile/embed\\.cpp$")
only_in("(::|[^_a-z])(setenv|putenv|unsetenv|execvp|execlp|system|popen)\\(" "a call that is never made"
        "^nowhere$")
