#!/usr/bin/env -S metalrun -p llama.cpp -- python3
# SPDX-License-Identifier: MIT
#
# A Python program with metalrun in its first line: started by its path, it runs in the first python3
# of PATH, with the shim if this is a guest and that Python can take it ('metalrun check "$(command
# -v python3)"' says so). The options in the line are your choice; here those of the profile
# llama.cpp.
"""Says what a Python program sees of the shim and of the Metal device. Needs no module."""

import ctypes
import os
import sys


def libraries():
    """The paths of the libraries in this process."""
    if sys.platform != "darwin":
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            return [line.split(None, 5)[5].strip() for line in maps if "/" in line]
    dyld = ctypes.CDLL(None)
    dyld._dyld_get_image_name.restype = ctypes.c_char_p
    return [os.fsdecode(dyld._dyld_get_image_name(i)) for i in range(dyld._dyld_image_count())]


def highest_family():
    """The highest Apple family that the device says yes to; None if there is no device."""
    if sys.platform != "darwin":
        return None
    metal = ctypes.CDLL("/System/Library/Frameworks/Metal.framework/Metal")
    objc = ctypes.CDLL("/usr/lib/libobjc.A.dylib")
    metal.MTLCreateSystemDefaultDevice.restype = ctypes.c_void_p
    objc.sel_registerName.restype = ctypes.c_void_p
    device = metal.MTLCreateSystemDefaultDevice()
    question = objc.sel_registerName(b"supportsFamily:")
    # BOOL supportsFamily:(NSInteger), by the same function as any other message.
    ask = ctypes.CFUNCTYPE(
        ctypes.c_bool, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long
    )(("objc_msgSend", objc))
    families = [n for n in range(1, 11) if device and ask(device, question, 1000 + n)]
    return max(families, default=None)


def main():
    shim = next((path for path in libraries() if "metalrun_shim" in os.path.basename(path)), None)
    inserted = os.environ.get("DYLD_INSERT_LIBRARIES") or os.environ.get("LD_PRELOAD") or ""
    family = highest_family()
    print("python:  ", sys.executable, sys.version.split()[0])
    print("shim:    ", shim or "not in this process")
    print("device:  ", f"up to Apple {family}" if family else "no Metal device")
    print("children:", "get the shim" if "metalrun_shim" in inserted else "run stock")
    print("arguments:", *sys.argv[1:])


if __name__ == "__main__":
    main()
