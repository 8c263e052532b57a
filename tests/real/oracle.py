#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""oracle.py FILE... - a second, independent reader of Mach-O files and their signatures.

One line a file, tab separated: verdict (allowed, refused), reason, doubts (comma separated or `-`), facts
as JSON. Question and words: a file is exec'ed on Apple Silicon with macOS 15.5, SIP on, with
DYLD_INSERT_LIBRARIES naming one thin arm64 ad-hoc signed library. Not a tool to use: clear before fast.
"""
import json
import struct
import sys

from oracle_signature import Damaged, read_signature, take

RUNTIME, REQUIRE_LV, FORCED_LV, RESTRICT, ADHOC = 0x10000, 0x2000, 0x10, 0x800, 0x2
ALLOW_VARIABLES = 'com.apple.security.cs.allow-dyld-environment-variables'
DISABLE_VALIDATION = 'com.apple.security.cs.disable-library-validation'
ORDINARY = ('get-task-allow', 'com.apple.security.get-task-allow', 'com.apple.security.app-sandbox')
ARM64, X86_64 = 0x0100000c, 0x01000007
TYPES = {1: 'object', 2: 'executable', 3: 'fixed VM library', 4: 'core file', 5: 'preloaded', 6: 'library',
         7: 'dynamic linker', 8: 'bundle', 9: 'library stub', 10: 'debug symbols', 11: 'kernel extension',
         12: 'kernel collection'}
CPUS = {7: 'i386', 12: 'arm', 0x0200000c: 'arm64_32', 18: 'ppc', 0x01000012: 'ppc64'}
FLAG_NAMES = {0x1: 'host', 0x2: 'adhoc', 0x10: 'forced-library-validation', 0x100: 'hard', 0x200: 'kill',
              0x400: 'expires', 0x800: 'restrict', 0x1000: 'enforcement', 0x2000: 'library-validation',
              0x10000: 'runtime', 0x20000: 'linker-signed'}


def architecture_name(cpu, subtype):
    if cpu == ARM64:
        return {0: 'arm64', 1: 'arm64v8', 2: 'arm64e'}.get(subtype & 0xffffff, 'unknown')
    if cpu == X86_64:
        return {3: 'x86_64', 8: 'x86_64h'}.get(subtype & 0xffffff, 'unknown')
    return CPUS.get(cpu, 'unknown')


def grade(cpu, subtype):
    """How much the kernel of an Apple Silicon Mac likes a slice (grade_binary); Rosetta's comes last."""
    if cpu == ARM64:
        plain = subtype & 0xffffff
        if plain == 2:
            return 12 if subtype >> 24 in (0x80,) else 11
        return {1: 10, 0: 9}.get(plain, 0)
    return 1 if cpu == X86_64 else 0


class Image:
    """The header and load commands of one slice."""

    def __init__(self, data, offset_in_file=0):
        self.data, self.offset_in_file = data, offset_in_file
        magic = take(data, 0, 4)
        self.order = '<' if magic in (b'\xcf\xfa\xed\xfe', b'\xce\xfa\xed\xfe') else '>'
        self.wide = magic in (b'\xcf\xfa\xed\xfe', b'\xfe\xed\xfa\xcf')
        self.cpu, self.subtype, self.filetype, self.count, self.size, self.flags = self.unpack('6I', 4)
        self.header_size = 32 if self.wide else 28
        self.signature = None
        self.platforms, self.dylinkers, self.entries = [], [], 0
        self.encrypted = self.restricted = False
        self.doubts, self.kernel_faults, self.signature_command_faults = set(), [], []
        self.segments = []
        self.read_commands()

    def unpack(self, form, offset):
        form = self.order + form
        return struct.unpack(form, take(self.data, offset, struct.calcsize(form)))

    def name(self, offset):
        return take(self.data, offset, 16).split(b'\0')[0].decode('latin-1')

    def read_commands(self):
        end = self.header_size + self.size
        take(self.data, self.header_size, self.size)
        at = self.header_size
        for number in range(self.count):
            if end - at < 8:
                raise Damaged('load command %d starts past the end' % number)
            command, size = self.unpack('2I', at)
            if size < 8 or size > end - at or size % 4:
                raise Damaged('load command %d has %d bytes' % (number, size))
            try:
                self.read_command(command, at, size)
            except struct.error as error:
                raise Damaged(str(error))
            at += size

    def string(self, at, size):
        """The string of a command whose offset is its first field; '' when it leaves the command."""
        start = self.unpack('I', at + 8)[0]
        if start < 12 or start >= size:
            raise Damaged('a load command string starts outside its command')
        raw = take(self.data, at + start, size - start)
        if b'\0' not in raw:
            self.doubts.add('unterminated-string')
        return raw.split(b'\0')[0].decode('latin-1')

    def need(self, size, least):
        if size < least:
            raise Damaged('a load command of %d bytes is too small' % size)

    def read_command(self, command, at, size):
        if command == 0x19 or command == 0x1:
            self.read_segment(command == 0x19, at, size)
        elif command == 0x1d:
            if size != 16:
                raise Damaged('LC_CODE_SIGNATURE of %d bytes' % size)
            if self.signature is None:
                self.signature = self.unpack('2I', at + 8)
        elif command == 0x32:
            self.need(size, 24)
            self.platforms.append(self.unpack('I', at + 8)[0])
        elif command in (0x24, 0x25, 0x2f, 0x30):
            self.need(size, 16)
            self.platforms.append({0x24: 1, 0x25: 2, 0x2f: 3, 0x30: 4}[command])
        elif command in (0x21, 0x2c):
            self.need(size, 20)
            self.encrypted = self.encrypted or self.unpack('I', at + 16)[0] != 0
        elif command == 0xe:
            self.dylinkers.append(self.string(at, size))
        elif command in (0xc, 0xd, 0x80000018, 0x8000001f, 0x80000023, 0x20, 0x8000001c):
            self.string(at, size)
        elif command in (0x80000028, 0x5):
            self.entries += 1

    def read_segment(self, wide, at, size):
        if wide:
            self.need(size, 72)
            address, memory, offset, stored, _, protection, sections, _ = self.unpack('4Q4I', at + 24)
        else:
            self.need(size, 56)
            address, memory, offset, stored, _, protection, sections, _ = self.unpack('8I', at + 24)
        if wide != self.wide:
            self.kernel_faults.append('a segment command of the other word size')
        header, step = (72, 80) if wide else (56, 68)
        if sections > (size - header) // step:
            raise Damaged('%d sections do not fit their command' % sections)
        segment = self.name(at + 8)
        for number in range(sections):
            section = at + header + number * step
            if self.name(section) == '__restrict' and (self.name(section + 16) or segment) == '__RESTRICT':
                self.restricted = True
        if self.filetype in (2, 6, 8) and (offset > len(self.data) or stored > len(self.data) - offset):
            raise Damaged('segment %s leaves the slice' % segment)
        self.segments.append((segment, address, memory, offset, stored, protection))

    def kernel_refuses(self):
        """Why the kernel would not load this arm64 program; None when it would (parse_machfile)."""
        if self.kernel_faults:
            return self.kernel_faults[0]
        if not self.flags & 0x4:
            return 'no MH_DYLDLINK'
        if not self.flags & 0x200000:
            return 'no MH_PIE'
        if self.dylinkers != ['/usr/lib/dyld']:
            return 'dynamic linkers: %s' % self.dylinkers
        if not self.entries:
            return 'no entry point'
        if len(self.platforms) > 1:
            return 'two version commands'
        for name, _, memory, offset, stored, _ in self.segments:
            if stored and (self.offset_in_file + offset) % 0x4000:
                return 'segment %s is not aligned in the file' % name
            if stored > memory:
                return 'segment %s is larger in the file than in memory' % name
        if sum(1 for s in self.segments if s[3] == 0 and s[4] and s[5] & 5 == 5) != 1:
            return 'not exactly one text segment at offset 0'
        if not any(s[1] == 0 and s[2] >= 1 << 32 and not s[5] & 7 for s in self.segments):
            return 'no page zero of 4 GiB'
        return None


def read_slice(data, entry):
    """A dictionary about one slice; `image` is absent where there is no Mach-O that can be read."""
    cpu, subtype, offset, size = entry
    found = {'architecture': architecture_name(cpu, subtype), 'type': None, 'table': (cpu, subtype)}
    content = data[offset:offset + size]
    magic = bytes(content[:4])
    if bytes(content[:8]) == b'!<arch>\n':
        found['type'] = 'archive'
        return found
    try:
        if magic not in (b'\xcf\xfa\xed\xfe', b'\xce\xfa\xed\xfe', b'\xfe\xed\xfa\xcf', b'\xfe\xed\xfa\xce'):
            raise Damaged('the slice is no Mach-O')
        found['image'] = image = Image(content, offset)
        found['type'] = TYPES.get(image.filetype, 'type %d' % image.filetype)
    except Damaged as error:
        found['fault'] = str(error)
    return found


def read_container(data):
    """(container, slice entries). Raises Damaged for a universal file that the kernel would not take."""
    magic = bytes(data[:4])
    if magic in (b'\xcf\xfa\xed\xfe', b'\xce\xfa\xed\xfe', b'\xfe\xed\xfa\xcf', b'\xfe\xed\xfa\xce'):
        order = '<' if magic[:1] in (b'\xcf', b'\xce') else '>'
        cpu, subtype = struct.unpack(order + '2I', take(data, 4, 8))
        return 'thin', [(cpu, subtype, 0, len(data))]
    if bytes(data[:8]) == b'!<arch>\n':
        return 'archive', []
    if magic not in (b'\xca\xfe\xba\xbe', b'\xca\xfe\xba\xbf') or len(data) < 8:
        return 'none', []
    count = struct.unpack('>I', take(data, 4, 4))[0]
    wide = magic[3] == 0xbf
    form = '>IIQQII' if wide else '>5I'
    step = struct.calcsize(form)
    # A Java class has its version in place of the count; no table is larger than a page.
    if (not wide and count & 0xffff >= 45) or 8 + count * step > 0x4000:
        return 'none', []
    if count == 0:
        raise Damaged('a universal header without slices')
    table_end = 8 + count * step
    entries = [struct.unpack(form, take(data, 8 + n * step, step))[:4] for n in range(count)]
    for cpu, subtype, offset, size in entries:
        if offset < table_end or offset + size > len(data) or (not wide and offset + size >= 1 << 32):
            raise Damaged('a slice outside the file')
    spans = sorted((entry[2], entry[2] + entry[3]) for entry in entries)
    if any(a[1] > b[0] for a, b in zip(spans, spans[1:])):
        raise Damaged('slices overlap')
    if len({entry[:2] for entry in entries}) != len(entries):
        raise Damaged('two slices of one architecture')
    return 'fat64' if wide else 'fat32', entries


def entitlement_doubts(signature):
    keys = {k for k, v in signature['entitlements'].items() if v is not False}
    doubts = set()
    if keys & {'get-task-allow', 'com.apple.security.get-task-allow'}:
        doubts.add('get-task-allow')
    if 'com.apple.security.app-sandbox' in keys:
        doubts.add('app-sandbox')
    if not signature['flags'] & RUNTIME and any(
            not k.startswith('com.apple.security.cs.') and k not in ORDINARY for k in keys):
        doubts.add('unusual-entitlement')
    if signature['flags'] & (REQUIRE_LV | FORCED_LV) and DISABLE_VALIDATION in keys:
        doubts.add('validation-flag-with-entitlement')
    return doubts


def judge_signed(image, signature, doubts):
    """The reason of an arm64 program with a code signature."""
    doubts |= signature['doubts']
    if 'flags' in signature:
        doubts |= entitlement_doubts(signature)
        if signature['platform'] and signature['kind'] == 'adhoc':
            doubts.add('platform-adhoc')
    if signature['faults']:
        return 'bad-signature'
    flags, entitlements = signature['flags'], signature['entitlements']
    if signature['platform']:
        return 'platform-binary'
    if image.encrypted:
        return 'encrypted'
    if image.restricted:
        return 'restrict-segment'
    if flags & RESTRICT:
        return 'restrict-flag'
    if flags & RUNTIME and entitlements.get(ALLOW_VARIABLES) is not True:
        return 'hardened-runtime-no-dyld-env'
    if flags & (REQUIRE_LV | FORCED_LV) or (flags & RUNTIME and entitlements.get(DISABLE_VALIDATION) is not True):
        return 'library-validation'
    return 'ok'


def judge(container, slices, doubts):
    """The first reason that applies, and the slice that the kernel would run."""
    if container in ('none', 'archive'):
        return ('not-executable' if container == 'archive' else 'not-macho'), None
    best = max(slices, key=lambda s: grade(*s['table']))
    level = grade(*best['table'])
    if level > 1 and any(s is not best and 9 <= grade(*s['table']) <= 10 for s in slices) and level >= 11:
        doubts.add('arm64e-universal')
    if 'image' not in best and best['type'] != 'archive':
        return 'malformed', None
    if best['type'] != 'executable' or container == 'fat64':
        return 'not-executable', None
    image = best['image']
    doubts |= image.doubts
    if level not in (9, 10):
        return 'wrong-arch', None
    if 6 in image.platforms:
        doubts.add('catalyst')
    if any(platform not in (1, 6) for platform in image.platforms):
        return 'wrong-platform', best
    best['kernel'] = image.kernel_refuses()
    if (image.cpu, image.subtype) != best['table']:
        best['kernel'] = 'the slice is of another architecture than the universal header says'
    if best['kernel']:
        return 'malformed', best
    if image.signature is None:
        return 'unsigned-on-arm64', best
    return judge_signed(image, best['signature'], doubts), best


def facts_of(found, running):
    """What goes into the JSON for one slice."""
    facts = {'architecture': found['architecture'], 'type': found['type'], 'runs': found is running}
    facts.update({k: found[k] for k in ('fault', 'kernel') if found.get(k)})
    signature = found.get('signature')
    if signature:
        facts.update({k: signature[k] for k in ('kind', 'cdhash', 'identifier', 'team', 'pages', 'broken')
                      if k in signature})
        facts['faults'] = signature['faults']
        if 'flags' in signature:
            bits = [1 << n for n in range(32) if signature['flags'] >> n & 1]
            facts['flags'] = [FLAG_NAMES.get(bit, hex(bit)) for bit in bits]
            facts['entitlements'] = sorted(k for k, v in signature['entitlements'].items() if v is True)
    return facts


def examine(path):
    """(verdict, reason, doubts, facts) of a file."""
    with open(path, 'rb') as file:
        start = file.read(4)
        known = start[:2] in (b'\xca\xfe', b'\xcf\xfa', b'\xce\xfa', b'\xfe\xed', b'!<')
        data = memoryview(start + file.read()) if known else start
    doubts, facts, slices, running = set(), {'container': 'none'}, [], None
    try:
        container, entries = read_container(data)
        facts['container'] = container
        slices = [read_slice(data, entry) for entry in entries]
        for found in slices:
            if 'image' in found and found['image'].signature:
                found['signature'] = read_signature(found['image'].data, *found['image'].signature)
        reason, running = judge(container, slices, doubts)
    except Damaged as error:
        reason, facts['fault'] = 'malformed', str(error)
    facts['slices'] = [facts_of(found, running) for found in slices]
    return 'allowed' if reason == 'ok' else 'refused', reason, sorted(doubts), facts


def main(paths):
    for path in paths:
        verdict, reason, doubts, facts = examine(path)
        print('\t'.join((verdict, reason, ','.join(doubts) or '-', json.dumps(facts))), flush=True)


if __name__ == '__main__':
    main(sys.argv[1:])
