// How methods are called over HTTP, and what they answer.

#include <google/protobuf/util/json_util.h>

#include "tests/server/http/http_play.h"

namespace winnow {
namespace {

std::string CreateJson(const v1::TuningJobSpec& spec) {
  v1::CreateTuningJobRequest request;
  *request.mutable_spec() = spec;
  std::string json;
  REQUIRE(google::protobuf::util::MessageToJsonString(request, &json).ok());
  return json;
}

TEST_CASE("Http: a job is created, described, listed, stopped and deleted", "[http]") {
  HttpPlay play;
  const HttpReply created = play.Ask("POST", "/v1/tuning-jobs", CreateJson(RandomJob(3)));
  INFO(created.body);
  REQUIRE(created.status == 200);
  CHECK(created.headers.at("content-type") == "application/json");
  const std::string id = created.json()["id"];
  const auto job = play.Ask("GET", "/v1/tuning-jobs/" + id).json();
  CHECK(job["id"] == id);
  CHECK(job["state"] == "RUNNING");
  CHECK(job["spec"]["limits"]["max_trials"] == 3);
  CHECK(job["spec"]["seed"] == 0);  // what is not set is written too
  CHECK(play.Ask("GET", "/v1/tuning-jobs").json()["jobs"].size() == 1);
  CHECK(play.Ask("POST", "/v1/tuning-jobs/" + id + "/stop").json()["id"] == id);
  CHECK(play.Ask("DELETE", "/v1/tuning-jobs/" + id).status == 200);
  CHECK(play.Ask("GET", "/v1/tuning-jobs/" + id).status == 404);
}

TEST_CASE("Http: fields come from the path, the query and the body, and the path holds", "[http]") {
  HttpPlay play;
  FakeWorker worker(play, "one", 2);
  const std::string id = play.Create(RandomJob(4));
  PlayToEnd(play, id, {&worker});
  const std::string job = "/v1/tuning-jobs/" + id;
  CHECK(play.Ask("GET", job + "/trials?pageSize=2").json()["trials"].size() == 2);
  CHECK(play.Ask("GET", job + "/trials?page_size=3&").json()["trials"].size() == 3);
  CHECK(play.Ask("GET", job + "/trials/2").json()["trial"]["number"] == 2);
  CHECK(play.Ask("GET", job + "/metrics?trials=1&trials=3&metrics=loss").json()["points"].size() == 18);
  CHECK(play.Ask("GET", job + "/trials/1/logs?wait=0.5s").status == 200);
  CHECK(play.Ask("POST", job + "/stop", R"({"id": "another"})").json()["id"] == id);
  CHECK(play.Ask("GET", "/v1/tuning-jobs/" + id + "/").json()["id"] == id);
}

TEST_CASE("Http: what is no list is none in a job", "[http]") {
  HttpPlay play;
  const nlohmann::json good = nlohmann::json::parse(CreateJson(RandomJob(3)));
  const auto said = [&](const char* pointer, const nlohmann::json& value) {
    nlohmann::json request = good;
    request[nlohmann::json::json_pointer(pointer)] = value;
    const HttpReply reply = play.Ask("POST", "/v1/tuning-jobs", request.dump());
    CHECK(reply.status == 400);
    return reply.json()["message"].get<std::string>();
  };
  CHECK(said("/spec/tags", "abc") == R"(spec.tags: is "abc"; expected a list […])");
  CHECK_THAT(said("/spec/trainer/command", "python3 train.py"),
             Catch::Contains(R"(spec.trainer.command: is "python3 train.py"; expected a list)"));
  CHECK_THAT(said("/spec/parameters/0", {{"name", "k"}, {"categorical", {{"values", "ab"}}}}),
             Catch::Contains("spec.parameters[0].categorical.values: is \"ab\""));
  CHECK_THAT(said("/spec/channels/train", {{"path", "t"}, {"drop", "a"}}),
             Catch::Contains("spec.channels.train.drop: is \"a\""));
  CHECK(play.Ask("GET", "/v1/tuning-jobs").json()["jobs"].empty());
}

TEST_CASE("Http: requests say names as the contract does or in camelCase, and answers as the contract does",
          "[http]") {
  HttpPlay play;
  FakeWorker worker(play, "one", 2);
  for (const char* limits : {R"({"max_trials": 2, "max_parallel_trials": "1", "max_trial_resource": 3})",
                             R"({"maxTrials": "2", "maxParallelTrials": 1, "maxTrialResource": "3"})"}) {
    nlohmann::json request = nlohmann::json::parse(CreateJson(RandomJob(9)));
    request["spec"]["limits"] = nlohmann::json::parse(limits);
    request["spec"]["strategy"] = "random";
    const HttpReply created = play.Ask("POST", "/v1/tuning-jobs", request.dump());
    INFO(created.body);
    REQUIRE(created.status == 200);
    CHECK(created.json()["spec"]["limits"]["max_trials"] == 2);
    CHECK(created.json()["spec"]["limits"]["max_parallel_trials"] == 1);
    PlayToEnd(play, created.json()["id"], {&worker});
  }
  const std::string trials = "/v1/tuning-jobs/" +
                             play.Ask("GET", "/v1/tuning-jobs").json()["jobs"][0]["id"].get<std::string>() +
                             "/trials";
  CHECK(play.Ask("GET", trials + "?states=completed").json() ==
        play.Ask("GET", trials + "?states=COMPLETED").json());
  const auto snake = play.Ask("GET", trials + "?page_size=1&order_by=objective").json();
  CHECK(snake == play.Ask("GET", trials + "?pageSize=1&orderBy=objective").json());
  CHECK(snake["total_size"] == 2);
  const auto& trial = snake["trials"][0];
  REQUIRE(trial["hyperparameters"].size() == 1);
  CHECK(trial["configuration"]["x"] == trial["hyperparameters"][0]["continuous"]);
}

TEST_CASE("Http: an error has a status, gRPC's code and what is wrong with which field", "[http]") {
  HttpPlay play;
  const HttpReply unknown = play.Ask("GET", "/v1/tuning-jobs/nobody");
  CHECK(unknown.status == 404);
  CHECK(unknown.json()["code"] == "NOT_FOUND");
  CHECK_THAT(unknown.json()["message"].get<std::string>(), Catch::Contains("nobody"));

  v1::TuningJobSpec bad = RandomJob(1);
  bad.set_name("a b");
  bad.mutable_parameters(0)->mutable_continuous()->set_max(-5);
  const HttpReply refused = play.Ask("POST", "/v1/tuning-jobs", CreateJson(bad));
  CHECK(refused.status == 400);
  CHECK(refused.json()["code"] == "INVALID_ARGUMENT");
  REQUIRE(refused.json()["violations"].size() >= 2);
  CHECK(refused.json()["violations"][0]["field"].get<std::string>() != "");

  const std::string id = play.Create(RandomJob(1));
  CHECK(play.Ask("DELETE", "/v1/tuning-jobs/" + id).status == 409);  // it runs
}

TEST_CASE("Http: the answer to a job that cannot be read names every error, and what was expected",
          "[http]") {
  HttpPlay play;
  const HttpReply refused =
      play.Ask("POST", "/v1/tuning-jobs",
               R"({"spec": {"nam": "a", "strategy": "FOO", "limits": {"max_trials": "x"}}})");
  CHECK(refused.status == 400);
  CHECK(refused.json()["message"] ==
        "spec.nam: unknown field in the job file; did you mean name?; "
        "spec.strategy: is \"FOO\"; expected one of RANDOM, HYPERBAND, GRID, BAYESIAN, ASHA, BOHB, "
        "FREEZE_THAW, PBT; "
        "spec.limits.max_trials: is \"x\"; expected a whole number");
  CHECK(refused.json()["violations"].size() == 3);
}

TEST_CASE("Http: a job that is nested deeper than a stack is high is refused", "[http]") {
  HttpPlay play;
  std::string objects;
  for (int i = 0; i < 300'000; ++i) objects += "{\"a\":";
  CHECK(
      play.Ask("POST", "/v1/tuning-jobs", "{\"spec\": " + objects + "1" + std::string(300'001, '}')).status ==
      400);
  CHECK(
      play.Ask("POST", "/v1/tuning-jobs",
               "{\"spec\": {\"parameters\": " + std::string(300'000, '[') + std::string(300'000, ']') + "}}")
          .status == 400);
}

TEST_CASE("Http: what cannot be read names the parameter or the place in the body", "[http]") {
  HttpPlay play;
  struct Case {
    const char* method;
    const char* target;
    const char* body;
    const char* field;
  };
  const Case cases[] = {
      {"GET", "/v1/tuning-jobs?page_size=many", "", "page_size"},
      {"GET", "/v1/tuning-jobs?page_size=", "", "page_size"},
      {"GET", "/v1/tuning-jobs?page_size=1&page_size=2", "", "page_size"},
      {"GET", "/v1/tuning-jobs?page_size=99999999999999999999", "", "page_size"},
      {"GET", "/v1/tuning-jobs?nonsense=1", "", "nonsense"},
      {"GET", "/v1/workers?include_gone=perhaps", "", "include_gone"},
      {"GET", "/v1/tuning-jobs/x/trials/one", "", "trial"},
      {"GET", "/v1/tuning-jobs/x/trials/1/logs?wait=long", "", "wait"},
      {"GET", "/v1/tuning-jobs/%ff", "", "id"},
      {"POST", "/v1/tuning-jobs", "{", "body"},
      {"POST", "/v1/tuning-jobs", "[]", "body"},
      {"POST", "/v1/tuning-jobs?spec=1", "{}", "spec"},
      {"POST", "/v1/tuning-jobs", R"({"spec": 3})", "spec"},
      {"POST", "/v1/tuning-jobs", R"({"spec": {"name": 1}})", "spec.name"},
      {"POST", "/v1/tuning-jobs", R"({"spec": {"parameters": [{"integer": {"min": "x"}}]}})",
       "spec.parameters[0].integer.min"},
  };
  for (const Case& c : cases) {
    const HttpReply reply = play.Ask(c.method, c.target, c.body);
    INFO(c.method << " " << c.target << " " << c.body << ": " << reply.body);
    CHECK(reply.status == 400);
    REQUIRE(reply.json()["violations"].size() == 1);
    CHECK(reply.json()["violations"][0]["field"] == c.field);
  }
}

TEST_CASE("Http: a request that cannot be read says which names and values were expected", "[http]") {
  HttpPlay play;
  const std::string change = "/v1/tuning-jobs/" + play.Create(RandomJob(1)) + "/change";
  const auto said = [&](const char* method, const std::string& target, const char* body) {
    const HttpReply reply = play.Ask(method, target, body);
    CHECK(reply.status == 400);
    CHECK(reply.json()["violations"].size() == 1);
    return reply.json()["message"].get<std::string>();
  };
  CHECK(said("POST", "/v1/tokens", R"({"rol": "VIEWER"})") ==
        "rol: unknown field of CreateTokenRequest; did you mean role?");
  CHECK(said("POST", "/v1/tokens", R"({"role": "KING"})") ==
        "role: \"KING\"; expected one of VIEWER, SUBMITTER, WORKER, ADMIN");
  CHECK(said("POST", "/v1/projects/vision", R"({"max_slots": "many"})") ==
        "max_slots: \"many\"; expected a whole number");
  CHECK(said("POST", "/v1/projects/vision", R"({"weight": true})") == "weight: true; expected a number");
  CHECK(said("POST", change, R"({"limits": {"trials": 3}})") ==
        "limits.trials: unknown field of ChangedLimits; did you mean max_trials?");
  CHECK(said("POST", change, R"({"limits": 3})") == "limits: 3; expected ChangedLimits");
  CHECK(said("POST", change, R"({"limits": {"max_trials": [3]}})") ==
        "limits.max_trials: is a list; expected a whole number");
  CHECK(said("POST", change, R"({"reason": {}})") == "reason: is an object; expected text in UTF-8");
  CHECK(said("POST", change, R"({"pause": true, "resume": true})") ==
        "resume: is given beside another; expected one alone");
  CHECK(said("POST", change, "[]") == "body: expected an object");
  CHECK(said("GET", "/v1/tuning-jobs?size=1", "") ==
        "size: unknown parameter of ListTuningJobsRequest; did you mean page_size?");
}

TEST_CASE("Http: what a method refuses about one field is a violation of that field", "[http]") {
  HttpPlay play;
  const std::string id = play.Create(RandomJob(1));
  const std::string job = "/v1/tuning-jobs/" + id;
  struct Case {
    const char* method;
    std::string target;
    const char* body;
    const char* field;
  };
  const Case cases[] = {
      {"GET", "/v1/tuning-jobs?page_size=-1", "", "page_size"},
      {"GET", job + "/trials?page_token=x", "", "page_token"},
      {"GET", job + "/table?filters=x", "", "filters[0]"},
      {"GET", job + "/trials/1/logs?offset=-1", "", "offset"},
      {"GET", job + "/trials/1/logs?wait=61s", "", "wait"},
      {"GET", job + "/slices/y", "", "parameter"},
      {"GET", "/v1/comparison", "", "job_ids"},
      {"GET", "/v1/usage?seconds=-1", "", "seconds"},
      {"GET", "/v1/blobs/x", "", "digest"},
      {"GET", "/v1/pools/none/submission?nodes=-1", "", "nodes"},
      {"POST", "/v1/tokens", R"({"name": "x"})", "role"},
      {"POST", "/v1/projects", R"({"name": "A"})", "name"},
      {"POST", "/v1/workers/none/scheduling", R"({"scheduling": 9})", "scheduling"},
  };
  for (const Case& c : cases) {
    const HttpReply reply = play.Ask(c.method, c.target, c.body);
    INFO(c.method << " " << c.target << " " << c.body << ": " << reply.body);
    CHECK(reply.status == 400);
    REQUIRE(reply.json()["violations"].size() == 1);
    const nlohmann::json violation = reply.json()["violations"][0];
    const std::string description = violation["description"];
    CHECK(violation["field"] == c.field);
    CHECK(reply.json()["message"] == std::string(c.field) + ": " + description);
  }
}

TEST_CASE("Http: unknown paths, other verbs and other types of bodies are refused in words", "[http]") {
  HttpPlay play;
  CHECK(play.Ask("GET", "/v1/nothing").status == 404);
  CHECK(play.Ask("GET", "/v1").status == 404);
  CHECK(play.Ask("GET", "/v1/tuning-jobs//trials").status == 404);
  const HttpReply put = play.Ask("PUT", "/v1/tuning-jobs", "{}");
  CHECK(put.status == 405);
  CHECK_THAT(put.headers.at("allow"), Catch::Contains("GET") && Catch::Contains("POST"));
  CHECK(play.Ask("POST", "/v1/tuning-jobs", "{}", {{"Content-Type", "text/plain"}}).status == 415);
  for (const char* type : {"application/json", "APPLICATION/JSON", "Application/Json \t; Charset=UTF-8"})
    CHECK(play.Ask("POST", "/v1/tuning-jobs", "{}", {{"Content-Type", type}}).status == 400);
  CHECK(play.Ask("GET", "/v1/tuning-jobs/%2e%2e").status == 400);
  CHECK(play.Ask("GET", "/v1/tuning-jobs/%4").status == 400);
  CHECK(play.Ask("GET", "/v1/tuning-jobs/%00").status == 400);
  CHECK(play.Ask("OPTIONS", "/v1/tuning-jobs").status == 405);
}

TEST_CASE("Http: HEAD answers as GET without a body, and requests follow each other on a connection",
          "[http]") {
  HttpPlay play;
  HttpClient client(play.port());
  const HttpReply head = client.Ask("HEAD", "/v1/tuning-jobs");
  const HttpReply get = client.Ask("GET", "/v1/tuning-jobs");
  CHECK(head.status == 200);
  CHECK(head.body == "");
  CHECK(head.headers.at("content-length") == std::to_string(get.body.size()));
  const std::string one = RequestText("GET", "/healthz", "", {});
  CHECK(client.Send(one + one + RequestText("GET", "/v1/workers", "", {{"Connection", "close"}})));
  CHECK(client.Read().status == 200);
  CHECK(client.Read().status == 200);
  const HttpReply last = client.Read();
  CHECK(last.json().contains("workers"));
  CHECK(last.headers.at("connection") == "close");
  CHECK(client.IsClosed());
}

TEST_CASE("Http: a body in chunks, and one that waits to be asked for", "[http]") {
  HttpPlay play;
  HttpClient client(play.port());
  CHECK(
      client.Send("POST /v1/preview HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                  "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"spe\r\n7\r\nc\": {}}\r\n0\r\n\r\n"));
  CHECK(client.Read().status == 400);
  CHECK(
      client.Send("POST /v1/preview HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                  "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n"));
  CHECK(client.ReadHead().status == 100);
  CHECK(client.Send("{}"));
  CHECK(client.Read().status == 400);
}

TEST_CASE("Http: health is what the server says of itself, until it stops", "[http]") {
  absl::Status health = absl::OkStatus();
  bool silent = false;
  HttpServerOptions options;
  options.probe = [&](std::function<void(absl::Status)> done) {
    if (!silent) done(health);
  };
  HttpPlay play(options);
  CHECK(play.Ask("GET", "/healthz").status == 200);
  health = absl::ResourceExhaustedError("the disk is full");
  const HttpReply full = play.Ask("GET", "/healthz");
  CHECK(full.status == 503);
  CHECK(full.json()["message"] == "the disk is full");
  silent = true;
  CHECK(play.Ask("GET", "/healthz").status == 503);
  silent = false;
  health = absl::OkStatus();
  play.http->AnnounceStop();
  CHECK(play.Ask("GET", "/healthz").json()["status"] == "stopping");
}

}  // namespace
}  // namespace winnow
