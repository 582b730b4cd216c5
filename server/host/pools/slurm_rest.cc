#include "server/host/pools/slurm_rest.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "base/read_file.h"
#include "server/host/pools/curl_headers.h"

namespace winnow {
namespace {

using RestJson = nlohmann::json;

// They are those of Slurm 22.05. Later ones write jobs otherwise.
constexpr std::array<const char*, 3> kRestVersions = {"v0.0.36", "v0.0.37", "v0.0.38"};
constexpr long kRestConnectSeconds = 10, kRestSeconds = 40;
constexpr size_t kMostRestBytes = 512 << 20;
constexpr int64_t kMostArrayElements = 100'000, kLargestIndex = 100'000'000;
constexpr int kNoSuchJob = 2017;    // ESLURM_INVALID_JOB_ID
constexpr int kUnspecified = -1;    // of a controller that does not answer, or a token that it does not take
constexpr int kAlreadyDone = 2021;  // ESLURM_ALREADY_DONE
constexpr int kPolicy = 2050;       // ESLURM_ACCOUNTING_POLICY

struct RestPlace {
  std::string url;     // "http://HOST:PORT", without a final '/'
  std::string socket;  // path of a unix socket; "": none
  std::string user;
  std::string token_file;  // "": the service asks for none, as at a unix socket
  std::string tls_ca;      // "": the system's authorities
  RestJson job;            // merged into each job
};

struct CurlEnd {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};

size_t TakeRestBytes(char* data, size_t size, size_t count, void* user) {
  auto& body = *static_cast<std::string*>(user);
  if (body.size() + size * count > kMostRestBytes) return 0;
  body.append(data, size * count);
  return size * count;
}

// Called about once a second, and at once when something arrives.
int EndsIfStopped(void* stopping, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return *static_cast<const std::atomic<bool>*>(stopping) ? 1 : 0;
}

struct RestAnswer {
  long status = 0;
  std::string body;
};

RestJson Parsed(const std::string& text) {
  RestJson json = RestJson::parse(text, nullptr, false);
  return json.is_object() ? json : RestJson::object();
}

std::string TextOfJson(const RestJson& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return "";
  if (found->is_string()) return found->get<std::string>();
  return found->is_number_integer() ? std::to_string(found->get<int64_t>()) : "";
}

int64_t NumberOfJson(const RestJson& object, const char* name, int64_t otherwise) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number_integer() ? found->get<int64_t>() : otherwise;
}

// An error of an answer: its number, and its words.
struct RestError {
  int64_t number = 0;
  std::string words;
};

std::vector<RestError> ErrorsOf(const RestJson& answer) {
  std::vector<RestError> errors;
  const auto list = answer.find("errors");
  if (list == answer.end() || !list->is_array()) return errors;
  for (const RestJson& each : *list) {
    if (!each.is_object()) continue;
    std::string words = TextOfJson(each, "error");
    if (const std::string more = TextOfJson(each, "description"); !more.empty())
      words += (words.empty() ? "" : ": ") + more;
    errors.push_back({NumberOfJson(each, "error_number", NumberOfJson(each, "error_code", 0)), words});
  }
  return errors;
}

// "3-5,8" and "3-9:2%4": the numbers.
std::vector<int64_t> IndicesOf(const std::string& text) {
  std::vector<int64_t> indices;
  const std::vector<std::string> parts = absl::StrSplit(text.substr(0, text.find('%')), ',');
  for (const std::string& part : parts) {
    const std::vector<std::string> range = absl::StrSplit(part.substr(0, part.find(':')), '-');
    int64_t first = 0, last = 0, step = 1;
    if (range.size() > 2 || !absl::SimpleAtoi(range.front(), &first) ||
        !absl::SimpleAtoi(range.back(), &last))
      continue;
    if (const size_t colon = part.find(':'); colon != std::string::npos) {
      if (!absl::SimpleAtoi(part.substr(colon + 1), &step)) continue;
    }
    if (step < 1 || step > kLargestIndex || last > kLargestIndex) continue;
    for (; first <= last && static_cast<int64_t>(indices.size()) < kMostArrayElements; first += step)
      indices.push_back(first);
  }
  return indices;
}

class SlurmRest final : public SlurmCalls {
 public:
  SlurmRest(RestPlace place, std::string partition, std::string account, std::string qos)
      : place_(std::move(place)),
        partition_(std::move(partition)),
        account_(std::move(account)),
        qos_(std::move(qos)),
        curl_(curl_easy_init()) {}

  absl::StatusOr<std::string> Submit(const SlurmSubmission& submission) override {
    const absl::StatusOr<RestAnswer> answer = Send("POST", "/job/submit", BodyOf(submission).dump());
    if (!answer.ok()) return answer.status();
    const RestJson json = Parsed(answer->body);
    // A job that no node can run now is taken, and yet the answer has an error, which says so.
    if (std::string id = TextOfJson(json, "job_id"); !id.empty() && id != "0") {
      most_taken_ = std::max(most_taken_, submission.nodes);
      return id;
    }
    const std::vector<RestError> errors = ErrorsOf(json);
    if (answer->status != 200 || !errors.empty()) {
      const absl::Status status = StatusOf(*answer, errors);
      // Unlike sbatch it does not say which limit of a policy it is. One that a smaller array may satisfy, or
      // that has let as many nodes pass, is full.
      const bool full = !errors.empty() && errors.front().number == kPolicy &&
                        (!submission.array.empty() || submission.nodes <= most_taken_);
      return full ? absl::ResourceExhaustedError(status.message()) : status;
    }
    return absl::UnavailableError("slurmrestd answered without a job id");
  }

  absl::StatusOr<std::vector<SlurmJob>> Jobs(const std::vector<std::string>& names,
                                             const std::vector<std::string>& ids) override {
    std::set<std::string> targets;  // an array's elements come with its own number
    for (const std::string& id : ids) targets.insert("/job/" + id.substr(0, id.find('_')));
    if (targets.empty()) targets.insert("/jobs");
    const std::set<std::string> wanted(names.begin(), names.end());
    std::vector<SlurmJob> all;
    for (const std::string& target : targets) {
      const absl::StatusOr<RestAnswer> answer = Send("GET", target, "");
      if (!answer.ok()) return answer.status();
      const RestJson json = Parsed(answer->body);
      const std::vector<RestError> errors = ErrorsOf(json);
      if (!errors.empty() && errors.front().number == kNoSuchJob) continue;
      if (answer->status != 200 || !errors.empty() || !json.contains("jobs"))
        return absl::UnavailableError(MessageOf(*answer, errors));
      for (SlurmJob& job : ReadSlurmRestJobs(answer->body)) {
        if (wanted.contains(job.name)) all.push_back(std::move(job));
      }
    }
    return all;
  }

  absl::Status Cancel(const std::vector<std::string>& ids) override {
    for (const std::string& id : ids) {
      const absl::StatusOr<RestAnswer> answer = Send("DELETE", "/job/" + id, "");
      if (!answer.ok()) return answer.status();
      const std::vector<RestError> errors = ErrorsOf(Parsed(answer->body));
      const bool gone =
          !errors.empty() && (errors.front().number == kNoSuchJob || errors.front().number == kAlreadyDone);
      if (gone || (answer->status == 200 && errors.empty())) continue;
      return StatusOf(*answer, errors);
    }
    return absl::OkStatus();
  }

  void Stop() override { stopping_ = true; }

  std::string Render(const SlurmSubmission& submission) const override {
    RestJson body = BodyOf(submission);
    body["script"] = "(below)";
    return fmt::format("# POST {}/slurm/{}/job/submit\n{}\n\n# script:\n{}", Where(),
                       version_.empty() ? kRestVersions.back() : version_,
                       body.dump(2, ' ', false, RestJson::error_handler_t::replace), submission.script);
  }

 private:
  std::string Where() const { return place_.socket.empty() ? place_.url : "unix:" + place_.socket; }

  RestJson BodyOf(const SlurmSubmission& submission) const {
    const WorkerShape& shape = submission.shape;
    RestJson job = {{"name", submission.name},
                    {"comment", "winnow"},
                    {"nodes", submission.nodes},
                    {"tasks_per_node", 1},
                    {"requeue", false},
                    {"standard_output", "/dev/null"},
                    {"current_working_directory", "/"},
                    {"environment", {{"PATH", "/usr/local/bin:/usr/bin:/bin"}}}};
    if (!submission.array.empty()) job["array"] = submission.array;
    if (submission.nodes > 1) job["no_kill"] = "set";  // no boolean, whatever its description says
    if (shape.cpus > 0) job["cpus_per_task"] = SlurmProcessors(shape.cpus);
    if (shape.memory_gib > 0) job["memory_per_node"] = SlurmMegabytes(shape.memory_gib);
    if (shape.gpus > 0) job["gres"] = fmt::format("gpu:{}", shape.gpus);
    if (submission.time_limit.count() > 0) job["time_limit"] = SlurmMinutes(submission.time_limit);
    if (!partition_.empty()) job["partition"] = partition_;
    if (!account_.empty()) job["account"] = account_;
    if (!qos_.empty()) job["qos"] = qos_;
    job.merge_patch(place_.job);
    return {{"job", job}, {"script", submission.script}};
  }

  static std::string MessageOf(const RestAnswer& answer, const std::vector<RestError>& errors) {
    std::string words;
    for (const RestError& error : errors) words += (words.empty() ? "" : "; ") + error.words;
    return words.empty() ? fmt::format("slurmrestd answered with status {}", answer.status) : words;
  }

  static absl::Status StatusOf(const RestAnswer& answer, const std::vector<RestError>& errors) {
    const std::string words = MessageOf(answer, errors);
    const bool heard = std::any_of(errors.begin(), errors.end(), [](const RestError& error) {
      return error.number != 0 && error.number != kUnspecified;
    });
    // A token that is not taken may be replaced.
    if (answer.status == 401 || answer.status == 403 || (answer.status >= 500 && !heard))
      return absl::UnavailableError(words);
    return SlurmError(words, words);
  }

  // `target` follows "/slurm/VERSION".
  absl::StatusOr<RestAnswer> Send(const std::string& method, const std::string& target,
                                  const std::string& body) {
    if (version_.empty()) {
      const absl::StatusOr<RestAnswer> openapi = SendTo("GET", "/openapi/v3", "");
      if (!openapi.ok()) return openapi.status();
      if (openapi->status != 200)
        return absl::UnavailableError(
            fmt::format("slurmrestd answered /openapi/v3 with {}", openapi->status));
      version_ = SlurmRestVersion(openapi->body);
      if (version_.empty()) {
        return absl::UnavailableError(
            fmt::format("slurmrestd has no version of its interface that is known here ({} to {})",
                        kRestVersions.front(), kRestVersions.back()));
      }
    }
    absl::StatusOr<RestAnswer> answer = SendTo(method, "/slurm/" + version_ + target, body);
    if (answer.ok() && answer->status == 404) version_.clear();  // it may be another slurmrestd by now
    return answer;
  }

  absl::StatusOr<RestAnswer> SendTo(const std::string& method, const std::string& path,
                                    const std::string& body) {
    CURL* const curl = curl_.get();
    if (curl == nullptr) return absl::UnavailableError("libcurl cannot be used");
    CurlHeaders headers;
    headers.Add("Accept: application/json");
    headers.Add("Expect:");
    if (!body.empty()) headers.Add("Content-Type: application/json");
    if (!place_.token_file.empty()) {
      // It is read each time: whoever gives tokens out replaces them.
      std::string token = ReadFile(place_.token_file).value_or("");
      token.erase(std::min(token.size(), token.find_last_not_of(" \r\n\t") + 1));
      if (const size_t equals = token.find("SLURM_JWT="); equals == 0) token.erase(0, 10);
      if (token.empty()) return absl::UnavailableError(place_.token_file + " cannot be read, or is empty");
      headers.Add("X-SLURM-USER-NAME: " + place_.user);
      headers.Add("X-SLURM-USER-TOKEN: " + token);
    }
    RestAnswer answer;
    curl_easy_reset(curl);  // the connection stays
    const std::string url = place_.url + path;
    curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "winnow-server/" WINNOW_VERSION);
    if (!place_.socket.empty()) curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, place_.socket.c_str());
    if (!place_.tls_ca.empty()) curl_easy_setopt(curl, CURLOPT_CAINFO, place_.tls_ca.c_str());
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method.c_str());
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, kRestConnectSeconds);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, kRestSeconds);
    if (!body.empty()) {
      curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.data());
      curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    }
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, TakeRestBytes);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer.body);
    if (method == "GET") {
      curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
      curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, EndsIfStopped);
      curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &stopping_);
    }
    char error[CURL_ERROR_SIZE] = "";
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error);
    const CURLcode code = curl_easy_perform(curl);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, nullptr);
    if (code != CURLE_OK) {
      return absl::UnavailableError(
          fmt::format("{}: {}", Where(), error[0] != '\0' ? error : curl_easy_strerror(code)));
    }
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer.status);
    return answer;
  }

  const RestPlace place_;
  const std::string partition_, account_, qos_;
  const std::unique_ptr<CURL, CurlEnd> curl_;
  std::string version_;  // "": not asked for yet
  int most_taken_ = 0;   // nodes of the largest job that Slurm took
  std::atomic<bool> stopping_ = false;
};

std::string OwnName() {
  const passwd* entry = getpwuid(geteuid());
  return entry == nullptr ? "" : entry->pw_name;
}

}  // namespace

std::vector<SlurmJob> ReadSlurmRestJobs(const std::string& answer) {
  std::vector<SlurmJob> jobs;
  const RestJson json = Parsed(answer);
  const auto list = json.find("jobs");
  if (list == json.end() || !list->is_array()) return jobs;
  for (const RestJson& each : *list) {
    if (!each.is_object()) continue;
    SlurmJob job{TextOfJson(each, "job_id"), TextOfJson(each, "job_state"), TextOfJson(each, "state_reason"),
                 TextOfJson(each, "nodes"),  TextOfJson(each, "name"),      ""};
    // As squeue prints it: words, where there are any, say more than the reason's name.
    if (std::string words = TextOfJson(each, "state_description"); !words.empty())
      job.reason = std::move(words);
    if (job.id.empty() || job.state.empty()) continue;
    const std::string array = TextOfJson(each, "array_job_id"), index = TextOfJson(each, "array_task_id");
    if (array.empty() || array == "0") {
      jobs.push_back(job);
      continue;
    }
    std::vector<int64_t> indices = IndicesOf(TextOfJson(each, "array_task_string"));
    if (int64_t own = 0; absl::SimpleAtoi(index, &own)) indices = {own};
    for (const int64_t number : indices) {
      SlurmJob& element = jobs.emplace_back(job);
      element.index = std::to_string(number);
      element.id = array + "_" + element.index;
    }
  }
  return jobs;
}

std::string SlurmRestVersion(const std::string& openapi) {
  const RestJson json = Parsed(openapi);
  const auto paths = json.find("paths");
  if (paths == json.end() || !paths->is_object()) return "";
  for (auto version = kRestVersions.rbegin(); version != kRestVersions.rend(); ++version) {
    if (paths->contains(fmt::format("/slurm/{}/job/submit", *version))) return *version;
  }
  return "";
}

std::unique_ptr<SlurmCalls> MakeSlurmRest(Fields& fields, std::vector<std::string>& problems) {
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
  const size_t before = problems.size();
  static_cast<void>(fields.Texts("arguments"));
  static_cast<void>(fields.Text("bin_dir"));
  for (const char* name : {"arguments", "bin_dir"}) {
    if (fields.Has(name))
      fields.Problem(
          name, "is for Slurm's commands, which are not used with `rest`; expected fields in `rest.job`");
  }
  const RestJson object = fields.Object("rest");
  Fields rest(object, fields.PathOf("rest"), problems);
  RestPlace place;
  place.url = rest.Text("url");
  place.user = rest.Text("user", OwnName());
  place.token_file = rest.Text("token_file");
  place.tls_ca = rest.Text("tls_ca");
  place.job = rest.Object("job");
  rest.Done();
  if (place.url.starts_with("unix:/")) {
    place.socket = place.url.substr(5);
    place.url = "http://localhost";
  } else if (!place.url.starts_with("http://") && !place.url.starts_with("https://")) {
    rest.Problem("url", fmt::format("is \"{}\"; expected \"http://HOST:PORT\", \"https://HOST:PORT\" or "
                                    "\"unix:PATH\" with an absolute path",
                                    place.url));
  } else if (place.token_file.empty()) {
    rest.Problem("token_file", "is absent; expected the file with a token, as `scontrol token` prints it");
  }
  while (place.url.ends_with('/')) place.url.pop_back();
  for (const char* ours : {"name", "array", "nodes"}) {
    if (place.job.is_object() && place.job.contains(ours))
      rest.Problem("job",
                   fmt::format("has \"{}\", which the server sets itself; expected other fields", ours));
  }
  if (initialised != CURLE_OK) rest.Problem("url", "cannot be used: libcurl does not work here");
  auto calls = std::make_unique<SlurmRest>(std::move(place), fields.Text("partition"), fields.Text("account"),
                                           fields.Text("qos"));
  return problems.size() == before ? std::move(calls) : nullptr;
}

}  // namespace winnow
