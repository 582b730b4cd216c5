#include "worker/data/aws_access.h"

#include <fcntl.h>

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "artifact/files.h"
#include "aws/aws_files.h"
#include "aws/requests.h"
#include "base/status_text.h"
#include "fmt/format.h"

namespace winnow {
namespace {

constexpr int64_t kMostFileBytes = 1 << 20;

// The first value that is not empty: of the job, then of the worker.
std::string FirstOf(const Variables& job, const Variables& worker, std::initializer_list<const char*> names) {
  for (const Variables* variables : {&job, &worker}) {
    for (const char* name : names) {
      if (std::string value = ValueIn(*variables, name); !value.empty()) return value;
    }
  }
  return "";
}

struct AwsFile {
  std::string path;
  AwsSections sections;
};

AwsFile ReadAwsFile(const Variables& worker, const char* variable, const char* name) {
  AwsFile file;
  file.path = ValueIn(worker, variable);
  if (file.path.empty()) {
    const std::string home = ValueIn(worker, "HOME");
    if (home.empty()) return file;
    file.path = home + "/.aws/" + name;
  }
  const absl::StatusOr<OpenFile> open = OpenFile::Open(file.path, O_RDONLY);
  if (!open.ok()) return file;
  if (const absl::StatusOr<std::string> text = open->ReadAt(0, kMostFileBytes); text.ok())
    file.sections = ParseAwsFile(*text);
  return file;
}

const std::map<std::string, std::string>* SectionOf(const AwsFile& file, const std::string& name) {
  const auto found = file.sections.find(name);
  return found == file.sections.end() ? nullptr : &found->second;
}

absl::StatusOr<std::optional<AwsCredentials>> FromVariables(const Variables& variables,
                                                            const std::string& whose) {
  AwsCredentials found{ValueIn(variables, "AWS_ACCESS_KEY_ID"), ValueIn(variables, "AWS_SECRET_ACCESS_KEY"),
                       ValueIn(variables, "AWS_SESSION_TOKEN"), "from " + whose + " AWS_ACCESS_KEY_ID"};
  if (found.id.empty() && found.secret.empty()) return std::optional<AwsCredentials>();
  if (found.id.empty() || found.secret.empty()) {
    return absl::FailedPreconditionError(
        fmt::format("{} is not set, but {} is; expected both",
                    found.id.empty() ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY",
                    found.id.empty() ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID"));
  }
  return std::optional<AwsCredentials>(found);
}

}  // namespace

std::string ValueIn(const Variables& variables, const std::string& name) {
  const auto found = variables.find(name);
  return found == variables.end() ? "" : found->second;
}

absl::StatusOr<AwsAccess> FindAwsAccess(const std::string& endpoint, const Variables& job,
                                        const Variables& worker, std::shared_ptr<AwsRole> role,
                                        const Cancellation& cancellation) {
  AwsAccess access;
  const AwsFile credentials = ReadAwsFile(worker, "AWS_SHARED_CREDENTIALS_FILE", "credentials");
  const AwsFile config = ReadAwsFile(worker, "AWS_CONFIG_FILE", "config");
  const std::string named = FirstOf(job, worker, {"AWS_PROFILE", "AWS_DEFAULT_PROFILE"});
  const std::string profile = named.empty() ? "default" : named;
  const auto* in_credentials = SectionOf(credentials, profile);
  const auto* in_config = SectionOf(config, profile == "default" ? profile : "profile " + profile);
  const auto of_profile = [&](const char* key) -> std::string {
    for (const auto* section : {in_credentials, in_config}) {
      if (section == nullptr) continue;
      if (const auto found = section->find(key); found != section->end() && !found->second.empty())
        return found->second;
    }
    return "";
  };

  auto given = FromVariables(job, "the job's");
  // A job that names a profile means its keys, not those in the worker's environment.
  if (given.ok() && !given->has_value() && ValueIn(job, "AWS_PROFILE").empty())
    given = FromVariables(worker, "the worker's");
  if (!given.ok()) return given.status();
  if (given->has_value()) {
    access.credentials = **given;
  } else {
    if (!named.empty() && in_credentials == nullptr && in_config == nullptr) {
      return absl::FailedPreconditionError(
          fmt::format("the profile {} (AWS_PROFILE) is neither in {} nor in {} of the worker", named,
                      credentials.path, config.path));
    }
    access.credentials = {of_profile("aws_access_key_id"), of_profile("aws_secret_access_key"),
                          of_profile("aws_session_token"),
                          fmt::format("of profile {} in {}", profile, credentials.path)};
    if (access.credentials.id.empty() != access.credentials.secret.empty()) {
      return absl::FailedPreconditionError(
          fmt::format("profile {} in {} has only one of aws_access_key_id and aws_secret_access_key; "
                      "expected both",
                      profile, credentials.path));
    }
    if (access.credentials.id.empty() && role != nullptr) {
      access.role = std::move(role);
      if (absl::Status status = RenewCredentials(access, cancellation); !status.ok()) return status;
    }
    if (access.credentials.id.empty()) {
      access.credentials.origin = fmt::format(
          "in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY of the job (trainer.secrets) or the worker, nor "
          "for profile {} in {}, nor for a role of the worker's container or machine",
          profile, credentials.path.empty() ? "~/.aws/credentials" : credentials.path);
    }
  }
  access.region = FirstOf(job, worker, {"AWS_REGION", "AWS_DEFAULT_REGION"});
  if (access.region.empty()) access.region = of_profile("region");
  if (access.region.empty()) access.region = "us-east-1";
  access.endpoint =
      endpoint.empty() ? FirstOf(job, worker, {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}) : endpoint;
  if (access.endpoint.empty()) access.endpoint = of_profile("endpoint_url");
  if (!access.endpoint.empty()) {
    if (absl::Status status = CheckEndpoint(access.endpoint); !status.ok())
      return absl::FailedPreconditionError(
          fmt::format("the endpoint {} {}", ShownUrl(access.endpoint), MessageOf(status)));
    while (access.endpoint.ends_with('/')) access.endpoint.pop_back();
  }
  return access;
}

absl::Status RenewCredentials(AwsAccess& access, const Cancellation& cancellation) {
  if (access.role == nullptr) return absl::OkStatus();
  absl::StatusOr<std::optional<AwsCredentials>> credentials =
      access.role->Get([&cancellation] { return cancellation.cancelled(); });
  if (!credentials.ok()) return credentials.status();
  if (credentials->has_value()) access.credentials = **std::move(credentials);
  return absl::OkStatus();
}

std::string AwsUrl(const AwsAccess& access, const std::string& bucket, const std::string& key) {
  return ObjectUrl(access.endpoint, access.region, bucket, key);
}

}  // namespace winnow
