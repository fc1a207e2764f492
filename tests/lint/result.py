# SPDX-License-Identifier: Apache-2.0
"""What a check returns: verdict, note, findings."""


def judge(findings, passed=""):
    """FAIL with the findings, or PASS with a note."""
    if not findings:
        return "PASS", passed, []
    note = findings[0] if len(findings) == 1 else f"{len(findings)} findings"
    return "FAIL", note, findings if len(findings) > 1 else []


def skip(reason):
    return "SKIP", reason, []
