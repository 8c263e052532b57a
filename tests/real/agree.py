#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""agree.py METALRUN HOST-FACTS [--expect VERDICT REASON FIRM] [--except TABLE] FILE...

Asks `metalrun check` and the independent reader (oracle.py) about each file and prints where they
differ, by whom and in what. --expect: what both must say of the file, in the words of open.tsv.
--except: a table of differences that are a choice, `file <tab> field <tab> why`. Exit status 1 if
anything else differs.
"""
import json
import os
import subprocess
import sys

import oracle

# The words of RULES.md in metalrun's (DESIGN section 4).
REASONS = {'ok': None, 'not-macho': 'not-a-program', 'wrong-arch': 'wrong-architecture',
           'unsigned-on-arm64': 'unsigned', 'hardened-runtime-no-dyld-env': 'hardened-runtime'}
# The findings that name a doubt, in metalrun's words.
DOUBTS = {'few-bad-pages': ['bad-signature'], 'get-task-allow': ['unusual-entitlement'],
          'app-sandbox': ['app-sandbox'], 'unusual-entitlement': ['unusual-entitlement'],
          'validation-flag-with-entitlement': ['library-validation'],
          'constraint': ['launch-constraint', 'library-constraint'],
          'arm64e-universal': ['slice-pinned', 'arm64e-not-allowed'], 'platform-adhoc': ['platform-binary'],
          'entitlement-forms': ['unusual-entitlement', 'bad-signature'], 'catalyst': ['wrong-platform'],
          'overlapping-blobs': ['bad-signature'], 'unterminated-string': ['malformed']}


def ask(metalrun, host_facts, path):
    """The only target of `metalrun check`'s document, or a text that says what went wrong."""
    command = [metalrun, 'check', '--json', '--verify', '--host-facts', host_facts, '--', path]
    try:
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False)
    except subprocess.TimeoutExpired:
        return 'metalrun did not answer within 120 s'
    if result.returncode not in (0, 1, 2):
        return 'exit status %d: %s' % (result.returncode, result.stderr.decode('utf-8', 'replace').strip())
    try:
        return json.loads(result.stdout)['targets'][0]
    except (ValueError, KeyError, IndexError) as error:
        return 'no answer in JSON: %r' % error


def add_slice(pairs, ours, other):
    """The fields of one slice; metalrun gives no facts of a signature that it calls broken."""
    name, signature = ours['architecture'], other.get('signature') or {}
    for field in ('architecture', 'type'):
        pairs['%s.%s' % (name, field)] = (ours[field], other[field])
    pairs[name + '.broken'] = (ours.get('broken', False), signature.get('kind') == 'broken')
    if signature.get('kind') == 'broken':
        return
    for field in ('cdhash', 'identifier', 'team', 'kind'):
        pairs['%s.%s' % (name, field)] = (ours.get(field), signature.get(field))
    pairs[name + '.flags'] = (sorted(ours.get('flags', [])), sorted(signature.get('flags') or []))
    keys = sorted(k for k, v in (signature.get('entitlements') or {}).items() if v is True)
    pairs[name + '.entitlements'] = (ours.get('entitlements', []), keys)
    if signature.get('pages'):
        pairs[name + '.pages'] = (ours.get('pages'), {key: signature['pages'][key] for key in ('checked', 'bad')})


def differences(target, reading):
    """{field: (what the reader says, what metalrun says)}"""
    verdict, reason, _, facts = reading
    pairs = {'decision': ('inject' if verdict == 'allowed' else 'refuse', target['decision']),
             'reason': (REASONS.get(reason, reason), target['reason'])}
    theirs = target.get('slices', [])
    if theirs and len(theirs) != len(facts['slices']):
        pairs['slices'] = (len(facts['slices']), len(theirs))
        return {k: v for k, v in pairs.items() if v[0] != v[1]}
    for ours, other in zip(facts['slices'], theirs):
        if ours['architecture'] != 'unknown' and other['type'] is not None:
            add_slice(pairs, ours, other)
    return {k: v for k, v in pairs.items() if v[0] != v[1]}


def unnamed_doubt(target, doubts):
    """A text when no finding names any of the doubts."""
    ids = {finding['id'] for finding in target['findings']}
    wanted = {name for doubt in doubts for name in DOUBTS[doubt]}
    if not wanted:
        return 'a soft row without a doubt'
    return None if wanted & ids else 'no finding of %s names the doubt' % ', '.join(sorted(wanted))


def examine(metalrun, host_facts, path, expected):
    """[(field, text)] of everything that is not as it should be."""
    target, reading = ask(metalrun, host_facts, path), oracle.examine(path)
    if isinstance(target, str):
        return [('answer', target)]
    found = [(field, 'the reader says %s, metalrun says %s' % pair)
             for field, pair in differences(target, reading).items()]
    if expected:
        verdict, reason, firm = expected
        if (verdict, reason) != reading[:2]:
            found.append(('expected', 'expected %s %s, the reader says %s %s' % (expected[:2] + reading[:2])))
        unnamed = unnamed_doubt(target, reading[2]) if firm == 'soft' else None
        if unnamed:
            found.append(('doubt', unnamed))
    return found


def read_exceptions(path):
    with open(path, encoding='utf-8') as file:
        rows = [line.rstrip('\n').split('\t') for line in file if line.strip() and not line.startswith('#')]
    return {(row[0], row[1]) for row in rows}


def main(arguments):
    metalrun, host_facts, *paths = arguments
    expected, exceptions, failed = None, set(), 0
    if paths[:1] == ['--expect']:
        expected, paths = tuple(paths[1:4]), paths[4:]
    if paths[:1] == ['--except']:
        exceptions, paths = read_exceptions(paths[1]), paths[2:]
    for path in paths:
        name = os.path.basename(path)
        found = examine(metalrun, host_facts, path, expected)
        for field, text in found:
            if (name, field) in exceptions:
                exceptions.discard((name, field))
                continue
            failed += 1
            print('%s: %s: %s' % (path, field, text))
    for name, field in sorted(exceptions):
        failed += 1
        print('%s: %s: listed as an exception, but both agree' % (name, field))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
