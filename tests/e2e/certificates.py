"""Certificates for servers of tests."""

import subprocess


def make_certificates(folder, names="DNS:localhost,IP:127.0.0.1"):
    """An authority and a server's certificate of these names, as docs/operations.md says."""
    key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes".split()
    for arguments in (
            ["req", "-x509", *key, "-days", "2", "-subj", "/CN=test authority", "-keyout", "ca.key", "-out", "ca.pem"],
            ["req", "-new", *key, "-subj", "/CN=server", "-addext", f"subjectAltName={names}",
             "-keyout", "server.key", "-out", "server.csr"],
            ["x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
             "-copy_extensions", "copy", "-out", "server.pem"]):
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)
