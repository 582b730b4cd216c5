// Tags and notes: who writes them, where they are seen, and that they decide nothing.

#include "tests/server/grpc/token_play.h"
#include "winnow/v1/tuning.grpc.pb.h"

namespace winnow {
namespace {

using AnnotateStub = v1::TuningService::Stub;

struct AnnotatePlay : TokenPlay {
  static grpc::Status Write(AnnotateStub& stub, const std::string& job, int64_t trial,
                            const std::vector<std::string>& tags, const std::string& note,
                            v1::Annotation* written = nullptr) {
    v1::AnnotateRequest request;
    request.set_job_id(job);
    request.set_trial(trial);
    request.mutable_tags()->Assign(tags.begin(), tags.end());
    request.set_note(note);
    v1::AnnotateResponse response;
    const grpc::Status status = Do(stub, &AnnotateStub::Annotate, request, response);
    if (written != nullptr) *written = response.annotation();
    return status;
  }
  static v1::TuningJob Submit(AnnotateStub& stub, const v1::TuningJobSpec& spec) {
    v1::CreateTuningJobRequest request;
    *request.mutable_spec() = spec;
    v1::TuningJob job;
    const grpc::Status status = Do(stub, &AnnotateStub::CreateTuningJob, request, job);
    INFO(status.error_message());
    REQUIRE(status.ok());
    return job;
  }
  static std::vector<std::string> List(AnnotateStub& stub, const v1::ListTuningJobsRequest& request) {
    v1::ListTuningJobsResponse response;
    const grpc::Status status = Do(stub, &AnnotateStub::ListTuningJobs, request, response);
    INFO(status.error_message());
    REQUIRE(status.ok());
    std::vector<std::string> ids;
    for (const v1::TuningJob& job : response.jobs()) ids.push_back(job.id());
    return ids;
  }
};

v1::TuningJobSpec ClientsJob() {
  v1::TuningJobSpec spec = RandomJob(2, 9);
  spec.mutable_trainer()->Clear();
  spec.mutable_trainer()->set_external(true);
  return spec;
}

std::vector<std::string> TagsOf(const v1::Annotation& annotation) {
  return {annotation.tags().begin(), annotation.tags().end()};
}

using Tags = std::vector<std::string>;

TEST_CASE("Annotate: a job's owner and admins write its tags and note, also after its end", "[server]") {
  AnnotatePlay play;
  const auto ana = play.Client(v1::SUBMITTER, "ana"), ben = play.Client(v1::SUBMITTER, "ben");
  const auto viewer = play.Client(v1::VIEWER, "vic"), admin = play.Client(v1::ADMIN, "root");
  v1::TuningJobSpec spec = ClientsJob();
  spec.add_tags("nightly");
  spec.set_note("the first");
  const v1::TuningJob job = play.Submit(*ana, spec);
  CHECK(TagsOf(job.annotation()) == Tags{"nightly"});
  CHECK(job.annotation().note() == "the first");
  CHECK(job.annotation().author().empty());
  CHECK(play.Write(*ben, job.id(), 0, {"x"}, "").error_code() == grpc::StatusCode::PERMISSION_DENIED);
  CHECK(play.Write(*viewer, job.id(), 0, {"x"}, "").error_code() == grpc::StatusCode::PERMISSION_DENIED);
  v1::Annotation written;
  REQUIRE(play.Write(*ana, job.id(), 0, {"b", "a", "b"}, "worse", &written).ok());
  CHECK(TagsOf(written) == Tags{"a", "b"});
  CHECK(written.author() == "ana");
  v1::StopTuningJobRequest stop;
  stop.set_id(job.id());
  v1::TuningJob stopped;
  REQUIRE(play.Do(*ana, &AnnotateStub::StopTuningJob, stop, stopped).ok());
  const int64_t facts = stopped.last_sequence();
  REQUIRE(play.Write(*admin, job.id(), 0, {}, "kept", &written).ok());
  CHECK(written.author() == "root");
  v1::DescribeTuningJobRequest describe;
  describe.set_id(job.id());
  v1::TuningJob now;
  REQUIRE(play.Do(*viewer, &AnnotateStub::DescribeTuningJob, describe, now).ok());
  CHECK(now.annotation().note() == "kept");
  CHECK(now.annotation().tags().empty());
  CHECK(now.last_sequence() == facts);
  REQUIRE(play.Write(*ana, job.id(), 0, {}, "").ok());
  REQUIRE(play.Do(*viewer, &AnnotateStub::DescribeTuningJob, describe, now).ok());
  CHECK_FALSE(now.has_annotation());
}

TEST_CASE("Annotate: a trial's tags are seen with it, and trials and jobs are found by them", "[server]") {
  AnnotatePlay play;
  const auto ana = play.Client(v1::SUBMITTER, "ana");
  const std::string first = play.Submit(*ana, ClientsJob()).id(),
                    second = play.Submit(*ana, ClientsJob()).id();
  v1::SuggestTrialsRequest ask;
  ask.set_job_id(first);
  ask.set_count(2);
  v1::SuggestTrialsResponse asked;
  REQUIRE(play.Do(*ana, &AnnotateStub::SuggestTrials, ask, asked).ok());
  REQUIRE(play.Write(*ana, first, 2, {"odd"}, "look").ok());
  v1::ListTrialsRequest list;
  list.set_job_id(first);
  v1::ListTrialsResponse trials;
  REQUIRE(play.Do(*ana, &AnnotateStub::ListTrials, list, trials).ok());
  REQUIRE(trials.trials_size() == 2);
  CHECK_FALSE(trials.trials(0).has_annotation());
  CHECK(trials.trials(1).annotation().note() == "look");
  list.add_tags("odd");
  REQUIRE(play.Do(*ana, &AnnotateStub::ListTrials, list, trials).ok());
  CHECK(trials.total_size() == 1);
  CHECK(trials.trials(0).number() == 2);
  v1::DescribeTrialRequest one;
  one.set_job_id(first);
  one.set_trial(2);
  v1::DescribeTrialResponse described;
  REQUIRE(play.Do(*ana, &AnnotateStub::DescribeTrial, one, described).ok());
  CHECK(TagsOf(described.trial().annotation()) == Tags{"odd"});

  REQUIRE(play.Write(*ana, second, 0, {"keep"}, "Adam beats SGD").ok());
  v1::ListTuningJobsRequest jobs;
  jobs.add_tags("keep");
  CHECK(play.List(*ana, jobs) == Tags{second});
  jobs.Clear();
  jobs.set_search("adam");
  CHECK(play.List(*ana, jobs) == Tags{second});
  jobs.Clear();
  jobs.set_search("ANA");  // the owner
  CHECK(play.List(*ana, jobs) == Tags{second, first});
  jobs.add_states(v1::TuningJob::COMPLETED);
  CHECK(play.List(*ana, jobs).empty());
  // A token of one filter is refused by another.
  jobs.Clear();
  jobs.set_search("ana");
  jobs.set_page_size(1);
  v1::ListTuningJobsResponse page;
  REQUIRE(play.Do(*ana, &AnnotateStub::ListTuningJobs, jobs, page).ok());
  REQUIRE_FALSE(page.next_page_token().empty());
  jobs.set_page_token(page.next_page_token());
  CHECK(play.List(*ana, jobs) == Tags{first});
  jobs.set_search("an");
  CHECK(play.Do(*ana, &AnnotateStub::ListTuningJobs, jobs, page).error_code() ==
        grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_CASE("Annotate: what is wrong is named, all of it", "[server]") {
  AnnotatePlay play;
  const auto ana = play.Client(v1::SUBMITTER, "ana");
  v1::TuningJobSpec spec = ClientsJob();
  const std::string id = play.Submit(*ana, spec).id();
  const grpc::Status bad = play.Write(*ana, id, 0, {"fine", "two words", ""}, std::string(5000, 'x'));
  CHECK(bad.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  CHECK_THAT(bad.error_message(), Catch::Contains("tags[1]: is \"two words\"; expected 1 to 64 letters"));
  CHECK_THAT(bad.error_message(), Catch::Contains("tags[2]: is \"\""));
  CHECK_THAT(bad.error_message(), Catch::Contains("note: has 5000 bytes; expected at most 4096"));
  CHECK(play.Write(*ana, id, 0, std::vector<std::string>(33, "a"), "").error_message() ==
        "tags: has 33 entries; expected at most 32");
  CHECK(play.Write(*ana, "nobody", 0, {}, "").error_code() == grpc::StatusCode::NOT_FOUND);
  CHECK(play.Write(*ana, id, 9, {}, "").error_message() == "job \"" + id + "\" has no trial 9");
  v1::CreateTuningJobRequest create;
  *create.mutable_spec() = spec;
  create.mutable_spec()->add_tags("a b");
  v1::TuningJob none;
  CHECK_THAT(play.Do(*ana, &AnnotateStub::CreateTuningJob, create, none).error_message(),
             Catch::Contains("tags[0]: is \"a b\""));
  v1::ListTuningJobsRequest jobs;
  jobs.add_states(static_cast<v1::TuningJob::State>(99));
  v1::ListTuningJobsResponse page;
  CHECK(play.Do(*ana, &AnnotateStub::ListTuningJobs, jobs, page).error_message() ==
        "states: 99 is not a state of a job");
}

}  // namespace
}  // namespace winnow
