#include "server/sagemaker/wire/identity.h"

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "re2/re2.h"
#include "server/sagemaker/wire/aws_error.h"
#include "server/sagemaker/wire/digests.h"

namespace winnow {
namespace {

using nlohmann::json;

absl::StatusOr<json> RoleOf(const AwsCall& call, const std::string& account) {
  const auto given = call.body.find("RoleName");
  const std::string name = given != call.body.end() && given->is_string() ? given->get<std::string>() : "";
  if (!re2::RE2::FullMatch(name, "[\\w+=,.@-]{1,64}")) {
    return AwsError(
        "ValidationError",
        "1 validation error detected: Value at 'roleName' failed to satisfy constraint: Member must "
        "satisfy regular expression pattern: [\\w+=,.@-]+");
  }
  const std::string arn = "arn:aws:iam::" + account + ":role/" + name;
  const std::string id =
      "AROA" + absl::AsciiStrToUpper(absl::BytesToHexString(Sha256Bytes(arn))).substr(0, 17);
  return json{{"Role", {{"Path", "/"}, {"RoleName", name}, {"RoleId", id}, {"Arn", arn}, {"CreateDate", 0}}}};
}

}  // namespace

absl::StatusOr<json> AnswerIdentity(const AwsCall& call, const std::string& account, const std::string& user,
                                    const std::string& key_id) {
  if (call.service == "iam" && call.operation == "GetRole") return RoleOf(call, account);
  if (call.service == "sts" && call.operation == "GetCallerIdentity") {
    return json{
        {"Arn", "arn:aws:iam::" + account + ":user/" + user}, {"UserId", key_id}, {"Account", account}};
  }
  return AwsError("AccessDenied",
                  "The operation " + call.operation + " of " + call.service + " is not offered by Winnow.");
}

}  // namespace winnow
