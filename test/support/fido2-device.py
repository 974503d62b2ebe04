"""A security key in software, on Debian's python3-fido2: its client data, CBOR, COSE and CTAP2 are independent of ours.

Reads one JSON request per line, writes one JSON answer per line:
  {"do": "create", "origin": …, "options": …}  as navigator.credentials.create
  {"do": "get", "origin": …, "options": …}     as navigator.credentials.get
`"uv": false` skips user verification, `"counter": n` sets the next signature counter, `"attestation": "packed"` signs the
attestation with the new key, `"certificate": true` adds a certificate to it.
"""

import json
import sys
from base64 import urlsafe_b64decode, urlsafe_b64encode
from os import urandom

from cryptography.hazmat.backends import default_backend
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from fido2 import cbor
from fido2.client import ClientError, Fido2Client
from fido2.cose import ES256
from fido2.ctap import CtapDevice
from fido2.ctap2 import AttestedCredentialData, AuthenticatorData
from fido2.hid import CAPABILITY
from fido2.utils import sha256

AAGUID = b"tessera-software"
MAKE_CREDENTIAL, GET_ASSERTION, GET_INFO = 1, 2, 4
CREDENTIAL_EXCLUDED, NO_CREDENTIALS = 0x19, 0x2E
USER_PRESENT, USER_VERIFIED, ATTESTED = 1, 4, 0x40


def encode(data):
    return urlsafe_b64encode(bytes(data)).rstrip(b"=").decode()


def decode(text):
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


class SoftwareKey(CtapDevice):
    """Keeps discoverable credentials in memory."""

    def __init__(self):
        self.credentials = {}
        self.counter = 0
        self.attestation = "none"
        self.has_certificate = False

    @property
    def capabilities(self):
        return CAPABILITY.CBOR

    @classmethod
    def list_devices(cls):
        return iter([])

    def call(self, cmd, data=b"", event=None, on_keepalive=None):
        command = data[0]
        if command == GET_INFO:
            options = {"rk": True, "up": True, "uv": True}
            return b"\0" + cbor.encode({1: ["FIDO_2_0"], 3: AAGUID, 4: options})
        request = cbor.decode(data[1:])
        status, answer = self.make(request) if command == MAKE_CREDENTIAL else self.get(request)
        return bytes([status]) + (b"" if answer is None else cbor.encode(answer))

    def authenticator_data(self, rp_id, options, credential=b""):
        flags = USER_PRESENT | (USER_VERIFIED if options.get("uv") else 0) | (ATTESTED if credential else 0)
        return AuthenticatorData.create(sha256(rp_id.encode()), flags, self.counter, credential)

    def make(self, request):
        rp_id = request[2]["id"]
        if any(each["id"] in self.credentials for each in request.get(5) or []):
            return CREDENTIAL_EXCLUDED, None
        key = ec.generate_private_key(ec.SECP256R1(), default_backend())
        credential_id = urandom(32)
        self.credentials[credential_id] = (rp_id, request[3], key)
        public_key = ES256.from_cryptography_key(key.public_key())
        attested = AttestedCredentialData.create(AAGUID, credential_id, public_key)
        data = self.authenticator_data(rp_id, request.get(7) or {}, attested)
        if self.attestation == "none":
            return 0, {1: "none", 2: data, 3: {}}
        statement = {"alg": -7, "sig": key.sign(data + request[1], ec.ECDSA(hashes.SHA256()))}
        if self.has_certificate:
            statement["x5c"] = [b"certificate"]
        return 0, {1: "packed", 2: data, 3: statement}

    def get(self, request):
        allowed = [each["id"] for each in request.get(3) or []]
        for credential_id, (rp_id, user, key) in reversed(list(self.credentials.items())):
            if rp_id != request[1] or (allowed and credential_id not in allowed):
                continue
            self.counter += 1
            data = self.authenticator_data(rp_id, request.get(5) or {})
            signature = key.sign(data + request[2], ec.ECDSA(hashes.SHA256()))
            descriptor = {"id": credential_id, "type": "public-key"}
            return 0, {1: descriptor, 2: data, 3: signature, 4: {"id": user["id"]}}
        return NO_CREDENTIALS, None


def create(client, options):
    made = client.make_credential(
        {
            "rp": options["rp"],
            "user": {**options["user"], "id": decode(options["user"]["id"])},
            "challenge": decode(options["challenge"]),
            "pubKeyCredParams": options["pubKeyCredParams"],
            "excludeCredentials": [
                {"type": each["type"], "id": decode(each["id"])} for each in options.get("excludeCredentials", [])
            ],
            "authenticatorSelection": {
                "requireResidentKey": options["authenticatorSelection"]["requireResidentKey"],
                "userVerification": options["authenticatorSelection"]["userVerification"],
            },
        }
    )
    credential_id = encode(made.attestation_object.auth_data.credential_data.credential_id)
    return credential_id, {
        "clientDataJSON": encode(made.client_data),
        "attestationObject": encode(made.attestation_object.with_string_keys()),
        "transports": ["usb"],
    }


def get(client, options):
    selection = client.get_assertion(
        {
            "challenge": decode(options["challenge"]),
            "rpId": options["rpId"],
            "userVerification": options["userVerification"],
        }
    )
    made = selection.get_response(0)
    return encode(made.credential_id), {
        "clientDataJSON": encode(made.client_data),
        "authenticatorData": encode(made.authenticator_data),
        "signature": encode(made.signature),
        "userHandle": encode(made.user_handle),
    }


def main():
    device = SoftwareKey()
    for line in sys.stdin:
        request = json.loads(line)
        options = request["options"]
        device.attestation = request.get("attestation", "none")
        device.has_certificate = request.get("certificate", False)
        if "counter" in request:
            device.counter = request["counter"] - 1
        if request.get("uv") is False:
            options["userVerification"] = "discouraged"
            options.get("authenticatorSelection", {})["userVerification"] = "discouraged"
        # python3-fido2 accepts HTTPS origins only; browsers accept http://localhost too.
        client = Fido2Client(device, request["origin"], verify=lambda rp_id, origin: True)
        try:
            credential_id, response = (create if request["do"] == "create" else get)(client, options)
            credential = {"id": credential_id, "rawId": credential_id, "type": "public-key"}
            answer = {**credential, "clientExtensionResults": {}, "response": response}
        except ClientError as error:
            answer = {"error": str(error)}
        print(json.dumps(answer), flush=True)


main()
