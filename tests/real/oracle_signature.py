# SPDX-License-Identifier: MIT
"""The code signature half of oracle.py: super blob, code directories, entitlements, CMS.

Written from the format descriptions (cs_blobs.h, codedirectory.h, RFC 5652, X.690) and from nothing
else of this project: it is the second opinion on what metalrun reads.
"""
import hashlib
import plistlib
import struct


class Damaged(Exception):
    """The bytes cannot be what they claim to be; the text says how."""


def take(data, offset, size):
    """`size` bytes at `offset`, or Damaged."""
    if offset < 0 or size < 0 or offset > len(data) or size > len(data) - offset:
        raise Damaged('%d bytes at %d of %d' % (size, offset, len(data)))
    return bytes(data[offset:offset + size])


def be32(data, offset):
    return struct.unpack('>I', take(data, offset, 4))[0]


SUPERBLOB, DIRECTORY, WRAPPER = 0xfade0cc0, 0xfade0c02, 0xfade0b01
# Slots with a magic that the kernel insists on, and which it takes once only.
SLOT_MAGIC = {5: 0xfade7171, 7: 0xfade7172, 8: 0xfade8181, 9: 0xfade8181, 10: 0xfade8181, 11: 0xfade8181}
DIRECTORY_SLOTS = (0, 0x1000, 0x1001, 0x1002, 0x1003, 0x1004)
CMS_SLOT = 0x10000
# hash type -> (hashlib name, stored size, rank)
HASHES = {1: ('sha1', 20, 1), 3: ('sha256', 20, 2), 2: ('sha256', 32, 3), 4: ('sha384', 48, 4)}
DIGEST_OF_OID = {'2b0e03021a': 'sha1', '608648016503040201': 'sha256', '608648016503040202': 'sha384',
                 '608648016503040203': 'sha512'}
SIGNED_DATA, MESSAGE_DIGEST = '2a864886f70d010702', '2a864886f70d010904'


# --- BER: CMS blobs use indefinite lengths, so that form is read too ------------------------------

def ber(data, start, end, strict=False, depth=0):
    """(tag, content start, content end, next element) of the element at `start`."""
    if depth > 64:
        raise Damaged('nested too deep')
    if end - start < 2:
        raise Damaged('element cut short')
    tag, first = data[start], data[start + 1]
    if tag & 0x1f == 0x1f:
        raise Damaged('long tag')
    at = start + 2
    if first < 0x80:
        size = first
    elif first == 0x80:
        if strict or not tag & 0x20:
            raise Damaged('indefinite length')
        inner = at
        while take(data, inner, 2) != b'\0\0':
            inner = ber(data, inner, end, strict, depth + 1)[3]
        return tag, at, inner, inner + 2
    else:
        count = first & 0x7f
        if count > 4 or count > end - at:
            raise Damaged('length of a length')
        size = int.from_bytes(data[at:at + count], 'big')
        at += count
    if size > end - at:
        raise Damaged('element longer than its parent')
    return tag, at, at + size, at + size


def elements(data, start, end, strict=False):
    """All elements between start and end, as (tag, content start, content end)."""
    found = []
    while start < end:
        tag, begin, stop, start = ber(data, start, end, strict)
        found.append((tag, begin, stop))
    return found


def inside(blob, element, tag, what):
    """The elements inside one that must have `tag`."""
    if element[0] != tag:
        raise Damaged('CMS: no %s' % what)
    return elements(blob, element[1], element[2])


def content_of(blob, element):
    return bytes(blob[element[1]:element[2]])


def cms_message_digest(blob):
    """(hashlib name, digest) in the first signer's signed attributes of a CMS SignedData."""
    kind, content = inside(blob, ber(blob, 0, len(blob))[:3], 0x30, 'ContentInfo')[:2]
    if kind[0] != 0x06 or content_of(blob, kind).hex() != SIGNED_DATA:
        raise Damaged('CMS is no SignedData')
    signed = inside(blob, inside(blob, content, 0xa0, 'content')[0], 0x30, 'SignedData')
    signers = inside(blob, signed[-1], 0x31, 'signers')
    # version, issuer and serial, digest algorithm, signed attributes, ...
    signer = inside(blob, signers[0], 0x30, 'signer')
    oid = inside(blob, signer[2], 0x30, 'digest algorithm')[0]
    algorithm = DIGEST_OF_OID.get(content_of(blob, oid).hex())
    if oid[0] != 0x06 or algorithm is None:
        raise Damaged('CMS with an unknown digest')
    for attribute in inside(blob, signer[3], 0xa0, 'signed attributes'):
        kind, values = inside(blob, attribute, 0x30, 'attribute')[:2]
        if kind[0] == 0x06 and content_of(blob, kind).hex() == MESSAGE_DIGEST:
            value = inside(blob, values, 0x31, 'attribute values')[0]
            if value[0] == 0x04:
                return algorithm, content_of(blob, value)
    raise Damaged('CMS without messageDigest')


# --- entitlements ---------------------------------------------------------------------------------

def der_value(data, element):
    tag, begin, stop = element
    raw = bytes(data[begin:stop])
    if tag == 0x01:
        if raw not in (b'\0', b'\xff'):
            raise Damaged('a boolean of DER is 0 or 255')
        return raw == b'\xff'
    if tag == 0x02:
        return int.from_bytes(raw, 'big', signed=True)
    if tag == 0x0c:
        return raw.decode('utf-8')
    if tag == 0x04:
        return raw
    if tag == 0x30:
        return [der_value(data, inner) for inner in elements(data, begin, stop, True)]
    if tag in (0xb0, 0x31):
        return der_dictionary(data, begin, stop)
    raise Damaged('entitlement of DER type %#x' % tag)


def der_dictionary(data, begin, stop):
    found = {}
    for tag, first, last in elements(data, begin, stop, True):
        pair = elements(data, first, last, True)
        if tag != 0x30 or len(pair) != 2 or pair[0][0] != 0x0c:
            raise Damaged('an entitlement is a key and a value')
        found[der_value(data, pair[0])] = der_value(data, pair[1])
    return found


def der_entitlements(data):
    tag, begin, stop, end = ber(data, 0, len(data), True)
    if end != len(data):
        raise Damaged('bytes after the DER entitlements')
    if tag == 0x31:                     # the form of macOS 11
        return der_dictionary(data, begin, stop)
    root = elements(data, begin, stop, True)
    if tag != 0x70 or len(root) != 2 or root[0][0] != 0x02 or root[1][0] != 0xb0:
        raise Damaged('DER entitlements have another root')
    return der_dictionary(data, root[1][1], root[1][2])


def read_entitlements(blobs, doubts, faults):
    """The entitlements that count: DER when there is one, else XML."""
    forms = {}
    for slot, parse in ((7, der_entitlements), (5, plistlib.loads)):
        content = blobs.get(slot, b'')[8:]
        if not content:
            continue
        try:
            value = parse(content)
        except Exception as error:      # plistlib raises many kinds
            faults.append('entitlements in slot %d: %s' % (slot, error))
            doubts.add('entitlement-forms')
            continue
        if not isinstance(value, dict) or content.startswith(b'bplist'):
            doubts.add('entitlement-forms')
        forms[slot] = value if isinstance(value, dict) else {}
    if 7 in forms and forms.get(5) != forms[7]:
        doubts.add('entitlement-forms')
    return forms.get(7, forms.get(5, {}))


# --- code directories -----------------------------------------------------------------------------

def text_at(blob, offset):
    end = blob.find(b'\0', offset)
    if offset >= len(blob) or end < 0:
        raise Damaged('identifier or team identifier without an end')
    return blob[offset:end].decode('utf-8', 'replace')


class Directory:
    """One code directory whose structure the kernel would accept (cs_validate_codedirectory)."""

    def __init__(self, blob):
        if len(blob) < 44 or be32(blob, 0) != DIRECTORY:
            raise Damaged('no code directory')
        self.blob = blob
        self.version, self.flags, self.hash_offset, identifier_offset, self.specials, self.pages, limit = \
            struct.unpack_from('>7I', blob, 8)
        self.hash_size, self.hash_type, self.platform, shift = blob[36:40]
        if self.hash_type not in HASHES or HASHES[self.hash_type][1] != self.hash_size:
            raise Damaged('hash type %d of %d bytes' % (self.hash_type, self.hash_size))
        if shift not in (12, 14):
            raise Damaged('pages of 2^%d bytes' % shift)
        if self.specials * self.hash_size > self.hash_offset:
            raise Damaged('special slots begin before the directory')
        take(blob, self.hash_offset, self.pages * self.hash_size)
        self.page_size = 1 << shift
        self.algorithm, _, self.rank = HASHES[self.hash_type]
        self.identifier = text_at(blob, identifier_offset)
        team = be32(blob, 48) if self.version >= 0x20200 else 0
        self.team = text_at(blob, team) if team else None
        wide = struct.unpack('>Q', take(blob, 56, 8))[0] if self.version >= 0x20300 else 0
        self.code_limit = wide or limit
        self.scatter = be32(blob, 44) if self.version >= 0x20100 else 0

    def digest(self, data):
        return hashlib.new(self.algorithm, data).digest()[:self.hash_size]

    def cdhash(self):
        return hashlib.new(self.algorithm, self.blob).digest()[:20].hex()

    def special(self, slot):
        """The hash in a special slot; None when there is none (all zero)."""
        if slot > self.specials:
            return None
        found = take(self.blob, self.hash_offset - slot * self.hash_size, self.hash_size)
        return found if any(found) else None

    def page_numbers(self):
        """The page of the slice that each code slot is for: in order, or as the scatter list says."""
        if not self.scatter:
            return range(self.pages)
        numbers, at = [], self.scatter
        while True:
            count, base = struct.unpack('>2I', take(self.blob, at, 8))
            if count == 0:
                return numbers
            if len(numbers) + count > self.pages:
                raise Damaged('the scatter list has more pages than hashes')
            numbers.extend(range(base, base + count))
            at += 24

    def bad_pages(self, image):
        """How many code slots do not match; the last page ends at the code limit."""
        bad = 0
        for slot, page in enumerate(self.page_numbers()):
            begin = page * self.page_size
            data = image[begin:min(begin + self.page_size, self.code_limit)]
            at = self.hash_offset + slot * self.hash_size
            bad += self.digest(data) != self.blob[at:at + self.hash_size]
        return bad


def split_blobs(area, doubts):
    """slot -> blob of a super blob; a bare code directory is slot 0."""
    magic, length = be32(area, 0), be32(area, 4)
    area = take(area, 0, length)
    if magic == DIRECTORY:
        return {0: area}
    if magic != SUPERBLOB:
        raise Damaged('magic %#x is no super blob' % magic)
    count = be32(area, 8)
    index = take(area, 12, min(count, 1 << 20) * 8)
    blobs, extents = {}, []
    for slot, offset in struct.iter_unpack('>2I', index):
        size = be32(area, offset + 4)
        if size < 8:
            raise Damaged('a blob of %d bytes' % size)
        blob = take(area, offset, size)
        if slot in SLOT_MAGIC and be32(blob, 0) != SLOT_MAGIC[slot]:
            raise Damaged('slot %d has magic %#x' % (slot, be32(blob, 0)))
        if slot in blobs and (slot in SLOT_MAGIC or slot in DIRECTORY_SLOTS):
            raise Damaged('slot %d twice' % slot)
        blobs.setdefault(slot, blob)
        extents.append((offset, offset + size))
    extents.sort()
    if any(a[1] > b[0] for a, b in zip(extents, extents[1:])) or (extents and extents[0][0] < 12 + len(index)):
        doubts.add('overlapping-blobs')
    return blobs


def check_cms(blobs, flags, faults):
    """'adhoc' or 'cms'. An empty wrapper is the same as none."""
    wrapper = blobs.get(CMS_SLOT, b'')
    if len(wrapper) <= 8 or be32(wrapper, 0) != WRAPPER:
        if not flags & 2:
            faults.append('neither flagged ad-hoc nor a CMS')
        return 'adhoc'
    try:
        algorithm, digest = cms_message_digest(wrapper[8:])
        if digest != hashlib.new(algorithm, blobs.get(0, b'')).digest():
            faults.append('the CMS is for another code directory')
    except (Damaged, IndexError, ValueError) as error:
        faults.append('CMS: %s' % error)
    return 'cms'


def read_signature(image, offset, size):
    """The facts of the signature at `offset` of a slice. `faults` is empty when all of it holds."""
    doubts, faults = set(), []
    facts = {'faults': faults, 'doubts': doubts}
    try:
        blobs = split_blobs(memoryview(take(image, offset, size)), doubts)
        directories = [Directory(blobs[slot]) for slot in DIRECTORY_SLOTS if slot in blobs]
        if not directories:
            raise Damaged('no code directory')
        if len({d.hash_type for d in directories}) != len(directories):
            raise Damaged('two code directories of one hash type')
        best = max(directories, key=lambda d: d.rank)
        facts.update(cdhash=best.cdhash(), identifier=best.identifier, team=best.team, flags=best.flags,
                     platform=best.platform, entitlements=read_entitlements(blobs, doubts, faults),
                     kind=check_cms(blobs, best.flags, faults))
        if any(slot in blobs for slot in (8, 9, 10, 11)):
            doubts.add('constraint')
        checked = bad = 0
        for directory in directories:
            if not directory.scatter and directory.pages != -(-directory.code_limit // directory.page_size):
                faults.append('%d code slots for %d bytes' % (directory.pages, directory.code_limit))
            if directory.code_limit < offset or directory.code_limit > len(image):
                faults.append('code limit %d, signature at %d' % (directory.code_limit, offset))
            else:
                bad += directory.bad_pages(image)
                checked += directory.pages
            for slot in (2, 5, 7, 8, 9, 10, 11):
                stored, blob = directory.special(slot), blobs.get(slot)
                if stored and blob is not None:
                    if stored != directory.digest(blob):
                        faults.append('slot %d does not match its hash' % slot)
                elif slot != 2 and (stored or blob is not None):
                    faults.append('slot %d has a hash or a blob, not both' % slot)
        facts['broken'] = bool(faults)      # in more than its pages
        if bad:
            faults.append('%d of %d pages do not match' % (bad, checked))
            if not facts['broken'] and bad < checked:
                doubts.add('few-bad-pages')
        facts['pages'] = {'checked': checked, 'bad': bad}
    except Damaged as error:
        faults.append(str(error))
        facts['broken'] = True
    return facts
