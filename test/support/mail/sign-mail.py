"""Signs messages with dkimpy for the tests. Reads a JSON list of jobs from stdin, and writes a JSON list of signed messages
(base64) to stdout.

A job: {"message": base64, "steps": [{"do": "dkim"|"arc", "selector", "domain", "key": PEM or base64 seed, "algorithm",
"canonicalize", "length": bool, "srv_id", "results": Authentication-Results that the hop adds}]}. Each step signs the output of
the step before.
"""
import base64
import json
import sys

import dkim


def sign(message, step):
    selector, domain, key = (step[name].encode() for name in ("selector", "domain", "key"))
    if step["do"] == "arc":
        message = b"Authentication-Results: " + step["results"].encode() + b"\r\n" + message
        return b"".join(dkim.arc_sign(message, selector, domain, key, step["srv_id"].encode())) + message
    forms = tuple(form.encode() for form in step.get("canonicalize", "relaxed/relaxed").split("/"))
    return dkim.sign(message, selector, domain, key, canonicalize=forms, length=step.get("length", False),
                     signature_algorithm=step["algorithm"].encode()) + message


signed = []
for job in json.load(sys.stdin):
    message = base64.b64decode(job["message"])
    for step in job["steps"]:
        message = sign(message, step)
    signed.append(base64.b64encode(message).decode())
json.dump(signed, sys.stdout)
