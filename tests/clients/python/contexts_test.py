#!/usr/bin/env python3
"""winnow.connect() and the servers that `winnow context` keeps."""

import os
import subprocess
import unittest
from unittest import mock

from servers import BIN, WithFolder, main

import winnow


class Contexts(WithFolder):
    def setUp(self):
        super().setUp()
        kept = {name: value for name, value in os.environ.items() if not name.startswith("WINNOW_") or name == "WINNOW_BIN_DIR"}
        patched = mock.patch.dict(os.environ, {**kept, "XDG_CONFIG_HOME": self.folder}, clear=True)
        patched.start()
        self.addCleanup(patched.stop)

    def context(self, *words, text=""):
        subprocess.run([f"{BIN}/winnow", "context", *words], check=True, capture_output=True, text=True, input=text)

    def test_the_current_context_is_used_with_its_token_and_another_by_its_name(self):
        server = self.serve(["--require-tokens"])
        token = subprocess.run([f"{BIN}/winnow", "--server", f"unix:{self.folder}/winnow.db.d/server.sock", "token", "create",
                                "--role", "viewer", "--name", "mine"], check=True, capture_output=True, text=True).stdout
        self.context("add", "lab", "--server", "127.0.0.1:1", "--http", server.http, "--token-stdin", text=token)
        self.context("add", "away", "--server", "127.0.0.1:1", "--http", "127.0.0.1:2")
        self.assertEqual(winnow.connect().caller()["name"], "mine")
        self.context("use", "away")
        self.assertEqual(winnow.connect().address, "http://127.0.0.1:2")
        self.assertEqual(winnow.connect(context="lab").caller()["name"], "mine")
        with mock.patch.dict(os.environ, {"WINNOW_CONTEXT": "lab"}):
            self.assertEqual(winnow.connect().caller()["name"], "mine")
            # Another server gets nothing of the context's.
            with self.assertRaises(winnow.WinnowError):
                winnow.connect(server.http, patience=0).caller()

    def test_what_cannot_be_used_is_said(self):
        self.assertEqual(winnow.connect().address, "http://127.0.0.1:8080")
        self.context("add", "lab", "--server", "127.0.0.1:1")
        with self.assertRaisesRegex(ValueError, "lab has no http address"):
            winnow.connect()
        with self.assertRaisesRegex(ValueError, "'cloud' is not kept in .*; expected one of lab"):
            winnow.connect(context="cloud")
        with self.assertRaisesRegex(ValueError, "not with server"):
            winnow.connect("127.0.0.1:1", context="lab")


if __name__ == "__main__":
    main()
