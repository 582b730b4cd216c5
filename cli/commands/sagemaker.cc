#include "cli/commands/sagemaker.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/environment.h"
#include "base/names.h"
#include "base/status_text.h"
#include "cli/output/text.h"

namespace winnow::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr long kCallSeconds = 20;
constexpr size_t kMostAnswerBytes = 4 << 20;
constexpr char kRole[] = "winnow";

struct UserKey {
  std::string id, secret, account, name;
};

absl::StatusOr<UserKey> FindUserKey(const SagemakerUse& use) {
  std::ifstream stream(use.keys);
  if (!stream.is_open()) {
    return absl::NotFoundError(fmt::format(
        "--keys: {} cannot be read: {}; expected the keys.json of a server that runs with --sagemaker",
        Clean(use.keys), std::strerror(errno)));
  }
  const json keys = json::parse(stream, nullptr, false);
  if (!keys.is_array())
    return absl::InvalidArgumentError(fmt::format("--keys: {} is no JSON list of keys", Clean(use.keys)));
  std::vector<std::string> names;
  for (const json& key : keys) {
    if (!key.is_object()) continue;
    const auto text = [&](const char* name) {
      const auto found = key.find(name);
      return found != key.end() && found->is_string() ? found->get<std::string>() : std::string();
    };
    UserKey found{text("access_key_id"), text("secret_access_key"), text("account"), text("name")};
    if (use.user.empty() || use.user == found.name || use.user == found.id) return found;
    names.push_back(found.name.empty() ? found.id : found.name);
  }
  return absl::NotFoundError(fmt::format("--user: {} has no key of {}; expected one of: {}", Clean(use.keys),
                                         use.user.empty() ? "anybody" : Quoted(Clean(use.user)),
                                         Clean(fmt::format("{}", fmt::join(names, ", ")))));
}

// For a shell.
std::string ShellQuoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

absl::Status WriteFile(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::trunc);
  file << text;
  file.close();
  if (file.good()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("--folder: cannot write {}: {}", Clean(path.string()), std::strerror(errno)));
}

// The configuration of the SageMaker SDK, whose other calls to STS go to AWS, and the file in which it finds
// its role.
absl::Status WriteSdkFiles(const fs::path& folder, const UserKey& key) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    return absl::FailedPreconditionError(
        fmt::format("--folder: cannot create {}: {}", Clean(folder.string()), error.message()));
  absl::Status status =
      WriteFile(folder / "config.yaml", fmt::format("SchemaVersion: '1.0'\n"
                                                    "SageMaker:\n"
                                                    "  PythonSDK:\n"
                                                    "    Modules:\n"
                                                    "      TelemetryOptOut: true\n"
                                                    "      Session:\n"
                                                    "        DefaultS3Bucket: sagemaker-{}\n",
                                                    key.account));
  if (!status.ok()) return status;
  const json metadata = {{"ExecutionRoleArn", fmt::format("arn:aws:iam::{}:role/{}", key.account, kRole)}};
  return WriteFile(folder / "resource-metadata.json", metadata.dump() + "\n");
}

std::vector<std::pair<std::string, std::string>> VariablesOf(const SagemakerUse& use, const UserKey& key) {
  std::vector<std::pair<std::string, std::string>> variables = {{"AWS_ENDPOINT_URL", use.url},
                                                                {"AWS_ACCESS_KEY_ID", key.id},
                                                                {"AWS_SECRET_ACCESS_KEY", key.secret},
                                                                {"AWS_DEFAULT_REGION", use.region},
                                                                {"AWS_REGION", use.region}};
  if (!use.folder.empty())
    variables.emplace_back("SAGEMAKER_ADMIN_CONFIG_OVERRIDE", fs::absolute(use.folder) / "config.yaml");
  return variables;
}

// The key that a client on this machine uses, whose server and region go into `use`. Absent: its variables
// name no server, or no key.
std::optional<UserKey> TakeVariables(SagemakerUse& use) {
  std::string url = EnvironmentVariable("AWS_ENDPOINT_URL");
  UserKey key{EnvironmentVariable("AWS_ACCESS_KEY_ID"), EnvironmentVariable("AWS_SECRET_ACCESS_KEY"), "", ""};
  if (url.empty() || key.id.empty() || key.secret.empty()) return std::nullopt;
  while (url.ends_with('/')) url.pop_back();
  use.url = url;
  for (const char* name : {"AWS_DEFAULT_REGION", "AWS_REGION"}) {
    if (const std::string region = EnvironmentVariable(name); !region.empty()) use.region = region;
  }
  return key;
}

// ---- calls

struct ServiceCall {
  std::string service, method, path, body;
  std::vector<std::string> headers;
};

struct ServiceAnswer {
  long status = 0;
  std::string body;
};

size_t TakeAnswer(char* bytes, size_t size, size_t count, void* user) {
  auto& body = *static_cast<std::string*>(user);
  if (body.size() + size * count > kMostAnswerBytes) return 0;
  body.append(bytes, size * count);
  return size * count;
}

absl::StatusOr<ServiceAnswer> Call(const SagemakerUse& use, const UserKey& key, const ServiceCall& call) {
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(), &curl_easy_cleanup);
  if (curl == nullptr) return absl::ResourceExhaustedError("libcurl cannot be used");
  curl_slist* list = nullptr;
  for (const std::string& header : call.headers) list = curl_slist_append(list, header.c_str());
  const std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers(list, &curl_slist_free_all);
  ServiceAnswer answer;
  char why[CURL_ERROR_SIZE] = "";
  const std::string url = use.url + call.path;
  const std::string signature = fmt::format("aws:amz:{}:{}", use.region, call.service);
  const std::string user = key.id + ":" + key.secret;
  curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl.get(), CURLOPT_AWS_SIGV4, signature.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_USERPWD, user.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl.get(), CURLOPT_CUSTOMREQUEST, call.method.c_str());
  if (call.method == "POST") {
    curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDSIZE, static_cast<long>(call.body.size()));
    curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDS, call.body.c_str());
  }
  curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT, kCallSeconds);
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_ERRORBUFFER, why);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, TakeAnswer);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &answer.body);
  const CURLcode result = curl_easy_perform(curl.get());
  if (result != CURLE_OK)
    return absl::UnavailableError(why[0] != '\0' ? std::string(why) : curl_easy_strerror(result));
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &answer.status);
  return answer;
}

// What an error says, in JSON or in XML.
std::string ErrorText(const ServiceAnswer& answer) {
  const json body = json::parse(answer.body, nullptr, false);
  if (body.is_object()) {
    for (const char* name : {"message", "Message"}) {
      if (body.contains(name) && body[name].is_string()) return body[name].get<std::string>();
    }
  }
  const size_t begin = answer.body.find("<Message>");
  const size_t end = answer.body.find("</Message>");
  if (begin != std::string::npos && end != std::string::npos && begin < end)
    return answer.body.substr(begin + 9, end - begin - 9);
  return fmt::format("HTTP status {}", answer.status);
}

struct Finding {
  std::string what;
  bool works = false;
  std::string says;
};

Finding Try(const SagemakerUse& use, const UserKey& key, const std::string& what, const std::string& well,
            const ServiceCall& call) {
  const absl::StatusOr<ServiceAnswer> answer = Call(use, key, call);
  if (!answer.ok()) return {what, false, MessageOf(answer.status())};
  if (answer->status != 200) return {what, false, ErrorText(*answer)};
  return {what, true, well};
}

std::vector<Finding> Examine(const SagemakerUse& use, const UserKey& key) {
  const std::string form = "Content-Type: application/x-www-form-urlencoded";
  const std::string json_type = "Content-Type: application/x-amz-json-1.1";
  std::vector<Finding> findings;
  const std::string whose = key.account.empty() ? "" : " of the account " + key.account;
  findings.push_back(Try(use, key, "key", key.id + whose,
                         {"sts", "POST", "/", "Action=GetCallerIdentity&Version=2011-06-15", {form}}));
  if (!findings.back().works) return findings;  // nor will the others
  // The digest of an empty body.
  const std::string empty =
      "x-amz-content-sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
  findings.push_back(Try(use, key, "s3", "buckets are listed", {"s3", "GET", "/", "", {empty}}));
  findings.push_back(
      Try(use, key, "sagemaker", "training jobs are listed",
          {"sagemaker", "POST", "/", "{}", {json_type, "X-Amz-Target: SageMaker.ListTrainingJobs"}}));
  findings.push_back(Try(use, key, "monitoring", "metrics are listed",
                         {"monitoring", "POST", "/", "Action=ListMetrics&Version=2010-08-01", {form}}));
  findings.push_back(
      Try(use, key, "logs", "log streams are listed",
          {"logs",
           "POST",
           "/",
           R"({"logGroupName": "/aws/sagemaker/TrainingJobs", "logStreamNamePrefix": "none/"})",
           {json_type, "X-Amz-Target: Logs_20140328.DescribeLogStreams"}}));
  return findings;
}

}  // namespace

Exit SagemakerEnvironment(Session& session, const SagemakerUse& use) {
  const absl::StatusOr<UserKey> key = FindUserKey(use);
  if (!key.ok()) return key.status();
  if (!use.folder.empty()) {
    if (absl::Status status = WriteSdkFiles(use.folder, *key); !status.ok()) return status;
  }
  const auto variables = VariablesOf(use, *key);
  if (session.output == Output::kJson) {
    json object = json::object();
    for (const auto& [name, value] : variables) object[name] = value;
    session.out.Print(object.dump(2) + "\n");
    return kSuccess;
  }
  for (const auto& [name, value] : variables)
    session.out.Print(fmt::format("export {}={}\n", name, ShellQuoted(value)));
  if (!use.folder.empty()) {
    session.err.Print(fmt::format(
        "The SageMaker SDK finds its role if {} is copied to /opt/ml/metadata/resource-metadata.json.\n",
        (fs::absolute(use.folder) / "resource-metadata.json").string()));
  }
  return kSuccess;
}

Exit SagemakerDoctor(Session& session, SagemakerUse use) {
  const std::optional<UserKey> own = use.as_variables ? TakeVariables(use) : std::nullopt;
  const absl::StatusOr<UserKey> key = own ? absl::StatusOr<UserKey>(*own) : FindUserKey(use);
  if (!key.ok()) return key.status();
  bool works = true;
  json list = json::array();
  for (const Finding& finding : Examine(use, *key)) {
    works = works && finding.works;
    list.push_back({{"what", finding.what}, {"works", finding.works}, {"says", finding.says}});
    if (session.output == Output::kText)
      session.out.Print(fmt::format("{:<10}  {:<6}  {}\n", finding.what, finding.works ? "works" : "fails",
                                    Clean(finding.says)));
  }
  if (session.output == Output::kJson)
    session.out.Print(list.dump(2, ' ', false, json::error_handler_t::replace) + "\n");
  return works ? kSuccess : kFailure;
}

}  // namespace winnow::cli
