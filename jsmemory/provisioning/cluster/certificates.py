"""
The authority of a cluster, and the certificates of its nodes.

The authority signs for nodes and for nobody else, since whoever has one of its certificates
can join the cluster. It may be kept elsewhere: it is needed only to make certificates.
"""

import ipaddress
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY_DAYS: Final = 3650
NODE_DAYS: Final = 365
RENEW_DAYS: Final = 30
"""A certificate that ends sooner is made anew."""

_SLACK: Final = timedelta(hours=1)
# The clocks of the nodes and of their clients differ.


class Unreadable(Exception):
    """What should be a certificate or a key is none, or the two are no pair."""


class Authority:
    """
    Who signs the certificates of nodes.

    Args:
        certificate: In PEM.
        key: Its private key in PEM, without a password.

    Raises:
        Unreadable: they are no certificate and its key.
    """

    def __init__(self, certificate: bytes, key: bytes) -> None:
        self.certificate = certificate
        self.key = key
        try:
            self._certificate = x509.load_pem_x509_certificate(certificate)
            private = serialization.load_pem_private_key(key, password=None)
        except (ValueError, TypeError):
            raise Unreadable from None
        if not isinstance(private, ec.EllipticCurvePrivateKey):
            raise Unreadable
        if private.public_key() != self._certificate.public_key():
            raise Unreadable
        self._key = private

    @classmethod
    def new(cls) -> "Authority":
        """An authority that nobody knows yet, for ten years."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "jsmemory cluster")])
        usage = x509.KeyUsage(
            digital_signature=False,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            key_cert_sign=True,
            crl_sign=True,
            encipher_only=False,
            decipher_only=False,
        )
        certificate = (
            _builder(name, name, key.public_key(), AUTHORITY_DAYS)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .sign(key, hashes.SHA256())
        )
        return cls(certificate.public_bytes(serialization.Encoding.PEM), _pem(key))

    def issue(self, node: str, hosts: Sequence[str]) -> tuple[bytes, bytes]:
        """
        Make a certificate for a node, for a year.

        Args:
            node: Its name.
            hosts: The names and addresses that clients and other nodes reach it by.

        Returns:
            The certificate and its private key, in PEM.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, node)])
        # To other nodes it is a server and a client.
        uses = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        authority = self._certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
        certificate = (
            _builder(name, self._certificate.subject, key.public_key(), NODE_DAYS)
            .add_extension(x509.SubjectAlternativeName(list(map(_named, hosts))), critical=False)
            .add_extension(x509.ExtendedKeyUsage(uses), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(authority), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        return certificate.public_bytes(serialization.Encoding.PEM), _pem(key)


def will_do(certificate: bytes, key: bytes, authority: bytes, hosts: Sequence[str]) -> bool:
    """
    Whether a node can go on with a certificate.

    Args:
        certificate: In PEM.
        key: Its private key in PEM.
        authority: Who must have signed it, in PEM.
        hosts: What it must be good for.

    Returns:
        False where it is somebody else's, ends within 30 days, or lacks one of the hosts.
    """
    try:
        held = x509.load_pem_x509_certificate(certificate)
        private = serialization.load_pem_private_key(key, password=None)
        held.verify_directly_issued_by(x509.load_pem_x509_certificate(authority))
        names = held.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, TypeError, InvalidSignature, x509.ExtensionNotFound):
        return False
    lasts = held.not_valid_after_utc - datetime.now(UTC) > timedelta(days=RENEW_DAYS)
    return lasts and private.public_key() == held.public_key() and set(map(_named, hosts)) <= set(names)


def hosts_of(certificate: bytes) -> tuple[str, ...]:
    """The names and addresses that a certificate is good for; none where it is no certificate in PEM."""
    try:
        held = x509.load_pem_x509_certificate(certificate)
        names = held.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, x509.ExtensionNotFound):
        return ()
    return (*names.get_values_for_type(x509.DNSName), *map(str, names.get_values_for_type(x509.IPAddress)))


def _builder(
    subject: x509.Name, issuer: x509.Name, public: ec.EllipticCurvePublicKey, days: int
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SLACK)
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    )


def _named(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
