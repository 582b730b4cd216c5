#!/usr/bin/env python3
"""Tags, notes and projects of jobs, and the jobs that are found by them."""

import unittest
import unittest.mock

from servers import EXTERNAL, WithFolder, main
import winnow


class Annotations(WithFolder):
    def setUp(self):
        super().setUp()
        self.client = winnow.connect(self.serve().http)

    def found(self, **asked):
        return [job["id"] for job in self.client.jobs(**asked)]

    def test_tags_and_a_note_of_the_submission_are_the_jobs(self):
        job = self.client.submit(EXTERNAL, tags=["team:vision", "baseline"], note="the first run")
        annotation = job.describe()["annotation"]
        self.assertEqual((annotation["tags"], annotation["note"]), (["baseline", "team:vision"], "the first run"))

    def test_they_are_replaced_also_after_the_end(self):
        job = self.client.submit(EXTERNAL, tags=["old"])
        job.stop()
        answer = job.annotate(["new"], "worth a second look")
        self.assertEqual(answer, job.describe()["annotation"])
        self.assertEqual((answer["tags"], answer["note"]), (["new"], "worth a second look"))
        job.annotate()
        self.assertFalse(job.describe().get("annotation", {}).get("tags"))

    def test_trials_have_their_own(self):
        job = self.client.submit(EXTERNAL)
        for trial in job.asked():
            trial.complete(loss=trial.params["x"])
        job.annotate(["odd"], "diverges on new data", trial=2)
        self.assertEqual([trial.number for trial in job.trials(tags=["odd"])], [2])
        self.assertEqual(job.trials(tags=["odd"])[0].raw["annotation"]["note"], "diverges on new data")
        self.assertFalse(job.describe().get("annotation", {}).get("tags"))

    def test_jobs_are_found_by_tags_state_and_text(self):
        first = self.client.submit(EXTERNAL, tags=["a", "b"], note="Fits the SMALL data").id
        second = self.client.submit(EXTERNAL, tags=["b"])
        second.stop()
        self.assertEqual(self.found(tags=["b"]), [second.id, first])
        self.assertEqual(self.found(tags=["a", "b"]), [first])
        self.assertEqual(self.found(tags=["b"], states=["STOPPED"]), [second.id])
        self.assertEqual(self.found(search="small data"), [first])
        self.assertEqual(self.found(search="nothing has this"), [])

    def test_jobs_belong_to_the_project_that_is_given(self):
        self.client.call("POST", "/v1/projects", name="vision")
        job = self.client.submit(EXTERNAL, project="vision")
        other = self.client.submit(EXTERNAL)
        self.assertEqual(job.id, other.id + "@vision")
        self.assertEqual(job.describe()["project"], "vision")
        self.assertEqual(self.found(project="vision"), [job.id])
        self.assertEqual(self.found(project="default"), [other.id])
        with unittest.mock.patch.dict("os.environ", WINNOW_PROJECT="vision"):
            self.assertEqual(self.client.submit(EXTERNAL).id, other.id + "-2@vision")
            self.assertEqual(self.client.submit(EXTERNAL, project="").id, other.id + "-2")
        with self.assertRaises(winnow.NotFound):
            self.client.submit(EXTERNAL, project="never")

    def test_what_is_no_tag_is_refused_with_its_field(self):
        with self.assertRaises(winnow.InvalidArgument) as refused:
            self.client.submit(EXTERNAL, tags=["two words"])
        self.assertIn("tags[0]", [violation.field for violation in refused.exception.violations])
        with self.assertRaisesRegex(TypeError, "expected a list of words"):
            self.client.jobs(tags="b")
        with self.assertRaises(winnow.NotFound):
            self.client.submit(EXTERNAL).annotate(["a"], trial=99)


if __name__ == "__main__":
    main()
