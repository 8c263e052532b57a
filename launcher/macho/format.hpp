// SPDX-License-Identifier: MIT
//
// Numbers of the Mach-O format under Apple's names in the house's spelling (LC_CODE_SIGNATURE is
// kLcCodeSignature): mach-o/fat.h, mach-o/loader.h, mach/machine.h and kern/cs_blobs.h of
// xnu-11417. Constants only: offsets of fields stand beside the code that reads them.
#pragma once

#include <cstdint>

namespace metalrun::macho {

// --- mach-o/fat.h: always big-endian ----------------------------------------------------------
inline constexpr std::uint32_t kFatMagic = 0xcafebabe; ///< also the magic of a Java class
inline constexpr std::uint32_t kFatMagic64 = 0xcafebabf;

// --- mach-o/loader.h ----------------------------------------------------------------------------
inline constexpr std::uint32_t kMhMagic = 0xfeedface;
inline constexpr std::uint32_t kMhMagic64 = 0xfeedfacf;

inline constexpr std::uint32_t kMhObject = 1;
inline constexpr std::uint32_t kMhExecute = 2;
inline constexpr std::uint32_t kMhDylib = 6;
inline constexpr std::uint32_t kMhBundle = 8;
inline constexpr std::uint32_t kMhDsym = 10;

inline constexpr std::uint32_t kMhDyldlink = 0x4;
inline constexpr std::uint32_t kMhPie = 0x200000;

inline constexpr std::uint32_t kLcReqDyld = 0x80000000;
inline constexpr std::uint32_t kLcSegment = 0x1;
inline constexpr std::uint32_t kLcUnixthread = 0x5;
inline constexpr std::uint32_t kLcLoadDylib = 0xc;
inline constexpr std::uint32_t kLcIdDylib = 0xd;
inline constexpr std::uint32_t kLcLoadDylinker = 0xe;
inline constexpr std::uint32_t kLcLoadWeakDylib = 0x18 | kLcReqDyld;
inline constexpr std::uint32_t kLcSegment64 = 0x19;
inline constexpr std::uint32_t kLcUuid = 0x1b;
inline constexpr std::uint32_t kLcRpath = 0x1c | kLcReqDyld;
inline constexpr std::uint32_t kLcCodeSignature = 0x1d;
inline constexpr std::uint32_t kLcReexportDylib = 0x1f | kLcReqDyld;
inline constexpr std::uint32_t kLcLazyLoadDylib = 0x20;
inline constexpr std::uint32_t kLcEncryptionInfo = 0x21;
inline constexpr std::uint32_t kLcLoadUpwardDylib = 0x23 | kLcReqDyld;
inline constexpr std::uint32_t kLcVersionMinMacosx = 0x24;
inline constexpr std::uint32_t kLcVersionMinIphoneos = 0x25;
inline constexpr std::uint32_t kLcMain = 0x28 | kLcReqDyld;
inline constexpr std::uint32_t kLcEncryptionInfo64 = 0x2c;
inline constexpr std::uint32_t kLcVersionMinTvos = 0x2f;
inline constexpr std::uint32_t kLcVersionMinWatchos = 0x30;
inline constexpr std::uint32_t kLcBuildVersion = 0x32;

inline constexpr std::uint32_t kPlatformMacos = 1;
inline constexpr std::uint32_t kPlatformIos = 2;
inline constexpr std::uint32_t kPlatformTvos = 3;
inline constexpr std::uint32_t kPlatformWatchos = 4;
inline constexpr std::uint32_t kPlatformMacCatalyst = 6;

inline constexpr std::uint32_t kVmProtRead = 1; ///< mach/vm_prot.h
inline constexpr std::uint32_t kVmProtWrite = 2;
inline constexpr std::uint32_t kVmProtExecute = 4;

// --- mach/machine.h -----------------------------------------------------------------------------
inline constexpr std::uint32_t kCpuArchAbi64 = 0x01000000;
inline constexpr std::uint32_t kCpuTypeX86 = 7;
inline constexpr std::uint32_t kCpuTypeX86x64 = kCpuTypeX86 | kCpuArchAbi64;
inline constexpr std::uint32_t kCpuTypeArm = 12;
inline constexpr std::uint32_t kCpuTypeArm64 = kCpuTypeArm | kCpuArchAbi64;
inline constexpr std::uint32_t kCpuTypeArm64x32 = kCpuTypeArm | 0x02000000; ///< CPU_ARCH_ABI64_32
inline constexpr std::uint32_t kCpuTypePowerpc = 18;
inline constexpr std::uint32_t kCpuTypePowerpc64 = kCpuTypePowerpc | kCpuArchAbi64;

inline constexpr std::uint32_t kCpuSubtypeMask = 0xff000000; ///< feature bits, not the subtype
inline constexpr std::uint32_t kCpuSubtypeX86All = 3;
inline constexpr std::uint32_t kCpuSubtypeX86x64H = 8;
inline constexpr std::uint32_t kCpuSubtypeArm64All = 0;
inline constexpr std::uint32_t kCpuSubtypeArm64V8 = 1;
inline constexpr std::uint32_t kCpuSubtypeArm64e = 2;
inline constexpr std::uint32_t kCpuSubtypeArm64eVersioned = 0x80000000; ///< arm64e: ABI numbered

// --- kern/cs_blobs.h: always big-endian ---------------------------------------------------------
inline constexpr std::uint32_t kMagicRequirements = 0xfade0c01;
inline constexpr std::uint32_t kMagicCodeDirectory = 0xfade0c02;
inline constexpr std::uint32_t kMagicEmbeddedSignature = 0xfade0cc0;
inline constexpr std::uint32_t kMagicEntitlements = 0xfade7171;
inline constexpr std::uint32_t kMagicDerEntitlements = 0xfade7172;
inline constexpr std::uint32_t kMagicLaunchConstraint = 0xfade8181;
inline constexpr std::uint32_t kMagicBlobWrapper = 0xfade0b01; ///< around the CMS signature

inline constexpr std::uint32_t kSlotCodeDirectory = 0;
inline constexpr std::uint32_t kSlotRequirements = 2;
inline constexpr std::uint32_t kSlotEntitlements = 5;
inline constexpr std::uint32_t kSlotDerEntitlements = 7;
inline constexpr std::uint32_t kSlotLaunchConstraintSelf = 8;
inline constexpr std::uint32_t kSlotLaunchConstraintParent = 9;
inline constexpr std::uint32_t kSlotLaunchConstraintResponsible = 10;
inline constexpr std::uint32_t kSlotLibraryConstraint = 11;
inline constexpr std::uint32_t kSlotAlternateCodeDirectories = 0x1000;
inline constexpr std::uint32_t kMostAlternateCodeDirectories = 5;
inline constexpr std::uint32_t kSlotCms = 0x10000;

inline constexpr std::uint32_t kVersionSupportsScatter = 0x20100;
inline constexpr std::uint32_t kVersionSupportsTeam = 0x20200;
inline constexpr std::uint32_t kVersionSupportsCodeLimit64 = 0x20300;
inline constexpr std::uint32_t kVersionSupportsExecSegment = 0x20400;
inline constexpr std::uint32_t kVersionSupportsRuntime = 0x20500;
inline constexpr std::uint32_t kVersionSupportsLinkage = 0x20600;

inline constexpr std::uint32_t kCsAdhoc = 0x2;
inline constexpr std::uint32_t kCsForcedLv = 0x10;
inline constexpr std::uint32_t kCsHard = 0x100;
inline constexpr std::uint32_t kCsKill = 0x200;
inline constexpr std::uint32_t kCsRestrict = 0x800;
inline constexpr std::uint32_t kCsRequireLv = 0x2000;
inline constexpr std::uint32_t kCsRuntime = 0x10000;
inline constexpr std::uint32_t kCsLinkerSigned = 0x20000;

} // namespace metalrun::macho
