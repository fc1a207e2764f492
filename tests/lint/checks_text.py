# SPDX-License-Identifier: Apache-2.0
"""Checks of how the text looks: sizes, complexity, banned calls and words, licence lines, headers."""
import concurrent.futures
import os
import re
import subprocess

import source
from result import judge

HERE = os.path.dirname(os.path.abspath(__file__))
FILE_LINES = 800
FUNCTION_LINES = 80
COMPLEXITY = 12
LINE_COLUMNS = 100
LANGUAGES = (".c", ".h", ".def", ".sh", ".py")


def is_source(name):
    return name.endswith(LANGUAGES) or source.is_script(name)


def file_sizes():
    findings = []
    for name in source.files():
        if is_source(name):
            lines = (source.text(name) or "").count("\n")
            if lines > FILE_LINES:
                findings.append(f"{name}: {lines} lines, at most {FILE_LINES}")
    return judge(findings)


def line_widths():
    findings = []
    for name in source.c_files(source.PRODUCT, (".c", ".h")):
        for number, line in enumerate((source.text(name) or "").splitlines(), 1):
            width = len(line.expandtabs(8))
            if width > LINE_COLUMNS:
                findings.append(f"{name}:{number}: {width} columns, at most {LINE_COLUMNS}")
    return judge(findings)


def functions():
    """(modified complexity, complexity, lines, file, name) of every function of a .c file."""
    listed = subprocess.run(["pmccabe", *source.c_files(suffixes=(".c",))], capture_output=True, text=True, check=True)
    for line in listed.stdout.splitlines():
        modified, plain, _, _, lines, place, name = line.split("\t")[0:5] + line.split("\t")[5].split(": ", 1)
        yield int(modified), int(plain), int(lines), place.split("(")[0], name


def function_sizes():
    return judge([f"{file}: {name}: {lines} lines, at most {FUNCTION_LINES}"
                  for _, _, lines, file, name in functions() if lines > FUNCTION_LINES])


def complexity(allow_file=os.path.join(HERE, "complexity.allow")):
    """A flat switch may pass the limit when it stands in the allow file; then the rest of it may not."""
    allow = source.allowed(allow_file)
    findings, used = [], set()
    for modified, plain, _, file, name in functions():
        subject = f"{file}:{name}"
        if plain <= COMPLEXITY:
            continue
        if subject not in allow:
            findings.append(f"{subject}: complexity {plain}, at most {COMPLEXITY}")
        elif modified > COMPLEXITY:
            findings.append(f"{subject}: complexity {modified} without its switch, at most {COMPLEXITY}")
        used.add(subject)
    findings += [f"complexity.allow: {subject} does not need it" for subject in sorted(allow) if subject not in used]
    return judge(findings)


# What cannot be bounded, reads a locale, or runs a shell.
BANNED = re.compile(r"\b(?:strcpy|stpcpy|strcat|strncpy|strncat|sprintf|vsprintf|sscanf|vsscanf|fscanf|scanf|gets|atoi|atol|"
                    r"atoll|atof|strtok|strtok_r|system|popen|alloca|strdupa|strndupa|tmpnam|tempnam|mktemp|rand|srand|"
                    r"longjmp|setjmp|bcmp|bzero)\s*\(")
# No handler runs code: signals are read through a signalfd.
HANDLER = re.compile(r"\bsignal\s*\([^,;]*,(?!\s*SIG_(?:IGN|DFL))|\bsa_(?:handler|sigaction)\s*=(?!\s*SIG_(?:IGN|DFL))")
LOCALE = re.compile(r"\b(?:setlocale|localtime|localtime_r|gmtime|gmtime_r|ctime|asctime|strftime|strcoll|toupper|tolower|"
                    r"is(?:alpha|alnum|digit|xdigit|space|upper|lower|print|punct|cntrl|graph))\s*\(")
ALLOCATION = re.compile(r"\b(?:malloc|calloc|realloc|reallocarray|strdup|strndup|asprintf|free)\s*\(")

NO_ALLOCATION = ("hmac.c", "imageref.c", "jsonw.c", "sha256.c", "text.c", "text_name.c", "text_utf8.c", "uuid_parse.c", "zbuf.c",
                 "zbuf_cstr.c", "zerr.c", "zlog.c", "zlog_broker.c")


def banned_calls():
    findings = []
    rules = [(BANNED, source.c_files(source.PRODUCT + ("fuzz",))),
             (HANDLER, source.c_files(source.PRODUCT)),
             (LOCALE, source.c_files(source.TRUSTED)),
             (ALLOCATION, [name for name in source.c_files(("common",)) if os.path.basename(name) in NO_ALLOCATION])]
    for pattern, names in rules:
        for name in names:
            findings += [f"{name}:{line}: {call.rstrip('( ')}" for line, call in source.hits(name, pattern)]
    return judge(findings)


# Split, so that this file does not hold them.
WORDS = [re.compile(pattern) for pattern in (
    "/wo" + "rk/", r"/ho" + r"me/[a-z]", r"/Us" + r"ers/[A-Za-z]", r"\.\./sha" + "red", r"\bTO" + r"DO\b", r"\bFIX" + r"ME\b",
    r"\bXX" + r"X\b", r"\bHA" + r"CK\b", "<<<<<" + "<< ", ">>>>>" + ">> ")]


def words():
    findings = []
    for name in source.files():
        text = source.text(name)
        if text is None:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            findings += [f"{name}:{number}: {match.group(0)}" for match in (word.search(line) for word in WORDS) if match]
    return judge(findings)


def licence_lines():
    findings = []
    for name in source.files():
        if is_source(name):
            head = (source.text(name) or "").splitlines()[:3]
            if not any("SPDX-License-Identifier: Apache-2.0" in line for line in head):
                findings.append(f"{name}: no SPDX line in its first three")
    return judge(findings)


def compile_header(compiler, header, flags):
    done = subprocess.run([compiler, "-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wstrict-prototypes", "-Werror",
                           "-I.", *flags, "-fsyntax-only", "-x", "c", "-"],
                          input=f'#include "{header}"\n#include "{header}"\n', capture_output=True, text=True)
    if done.returncode == 0:
        return None
    errors = [line for line in done.stderr.splitlines() if "error" in line]
    return f"{compiler}: {header}: {errors[0] if errors else done.stderr.strip()[:200]}"


def headers_alone():
    """Each header, included first and twice, in an otherwise empty file."""
    flags = subprocess.run(["pkg-config", "--cflags", "json-c", "librabbitmq", "libpq", "openssl", "libseccomp", "cmocka"],
                           capture_output=True, text=True, check=True).stdout.split()
    headers = source.c_files(source.PRODUCT, (".h",))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(compile_header, compiler, header, flags) for compiler in ("gcc", "clang") for header in headers]
        findings = [job.result() for job in jobs]
    return judge([finding for finding in findings if finding], f"{len(headers)} headers, gcc and clang")


CHECKS = [
    ("no file is too long", file_sizes),
    ("no line is too wide", line_widths),
    ("no function is too long", function_sizes),
    ("no function is too complex", complexity),
    ("no banned call", banned_calls),
    ("every header compiles alone", headers_alone),
    ("no word that must not stand", words),
    ("every source has its licence line", licence_lines),
]
