#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "winnow/v1/admin.pb.h"

namespace winnow {

// Who may call what: one row per method of each service.
struct MethodRule {
  std::string_view service;  // full name: "winnow.v1.TuningService"
  std::string_view method;
  unsigned roles;         // bits 1 << v1::Role
  std::string_view what;  // the action, after "may not"
  // Where the request names jobs, which the caller must see: a field, or fields with '.' between them. Or
  // what keeps a method that names none from telling of jobs that its caller may not see.
  std::string_view jobs;
  bool audited = false;  // the audit log has an entry of each call
};

// Neither the request nor the response tells of any job.
inline constexpr std::string_view kNoJobs = "(no jobs)";
// The handler leaves out what the caller may not see.
inline constexpr std::string_view kLeavesOut = "(leaves out)";
// For admins, who see everything.
inline constexpr std::string_view kForAdmins = "(admins)";

const std::vector<MethodRule>& MethodRules();

// False for a method without a row, for every role.
bool MayCall(v1::Role role, std::string_view service, std::string_view method);

// The method's rule; null: it has none.
const MethodRule* RuleOf(std::string_view service, std::string_view method);

// Whether the audit log has an entry of each call of the method.
bool IsAudited(std::string_view service, std::string_view method);

// Whether a call of the method may change something, or is a step towards it: it is audited, or only those
// may call it who do more than look.
bool MayChangeSomething(const MethodRule& rule);

// Explains a refusal: "role viewer may not stop jobs; expected a token of role submitter or admin".
std::string WhyNot(v1::Role role, std::string_view service, std::string_view method);

// "viewer", "submitter", "worker", "admin", for tables and users; "" for ROLE_UNSPECIFIED.
std::string_view RoleName(v1::Role role);
// ROLE_UNSPECIFIED for any other word.
v1::Role RoleOf(std::string_view name);

}  // namespace winnow
