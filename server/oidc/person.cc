#include "server/oidc/person.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/utf8.h"

namespace winnow {
namespace {

using Json = nlohmann::json;

constexpr size_t kLongestName = 128;  // of a token
constexpr char kEmail[] = "email";

std::string TextAt(const Json& claims, const std::string& path) {
  const Json* found = FindClaim(claims, path);
  return found != nullptr && found->is_string() ? found->get<std::string>() : "";
}

// Some providers write it as a text.
bool EmailIsVerified(const Json& claims) {
  const Json* verified = FindClaim(claims, "email_verified");
  return verified != nullptr && (*verified == Json(true) || *verified == Json("true"));
}

std::string Lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return text;
}

std::set<std::string> GroupsOf(const Json& claims, const OidcSettings& settings) {
  std::set<std::string> groups;
  const Json* found = FindClaim(claims, settings.groups_claim);
  if (found == nullptr) return groups;
  if (found->is_string()) groups.insert(found->get<std::string>());
  if (!found->is_array()) return groups;
  for (const Json& group : *found) {
    if (group.is_string()) groups.insert(group.get<std::string>());
  }
  return groups;
}

bool NeedsEmail(const OidcSettings& settings) {
  return settings.name_claim == kEmail || !settings.domains.empty();
}

bool NeedsGroups(const OidcSettings& settings) {
  return !settings.groups.empty() || !settings.roles.empty() || !settings.projects.empty();
}

// Why it cannot be a person's name; "": it can.
std::string WrongName(const std::string& name) {
  bool good = !name.empty() && name.size() <= kLongestName && name.front() != ' ' && name.back() != ' ';
  for (std::string_view rest = name; good && !rest.empty();) {
    const size_t length = Utf8Length(rest);
    good = length > 0 && (length > 1 || (static_cast<unsigned char>(rest[0]) >= ' ' && rest[0] != '\x7f'));
    rest.remove_prefix(length);
  }
  // As the names of the tokens of allocations, and of tokens without a name.
  if (good && !name.starts_with("allocation ") && !name.starts_with("token ")) return "";
  return fmt::format(
      "the name that the provider says cannot be a person's name here; expected 1 to {} printable bytes",
      kLongestName);
}

// The person's roles by their groups and the default; the last one may do most.
std::string RoleOfGroups(const std::set<std::string>& groups, const OidcSettings& settings) {
  std::set<std::string> roles = {settings.default_role};
  for (const std::string& text : settings.roles) {
    const OidcPair pair = SplitOidcPair(text);
    if (groups.contains(pair.second)) roles.insert(pair.first);
  }
  for (const char* role : {"admin", "submitter", "viewer"}) {
    if (roles.contains(role)) return role;
  }
  return "";
}

// Why no group lets the person in.
std::string NoGroup(const Json& claims, const OidcSettings& settings, const char* otherwise) {
  if (FindClaim(claims, settings.groups_claim) != nullptr) return otherwise;
  return fmt::format(
      "the provider does not say the person's groups: there is no claim \"{}\"; check "
      "--oidc-groups-claim and --oidc-scopes",
      settings.groups_claim);
}

// Why the person is not let in; "": they are.
std::string WhyNot(const Json& claims, const std::set<std::string>& groups, const OidcSettings& settings) {
  if (NeedsEmail(settings)) {
    if (TextAt(claims, kEmail).empty()) return "the provider does not say the person's e-mail address";
    if (!EmailIsVerified(claims)) {
      return "the provider does not say that the e-mail address is the person's own (email_verified)";
    }
  }
  if (!settings.domains.empty()) {
    const std::string email = Lower(TextAt(claims, kEmail));
    const std::string domain = email.substr(email.rfind('@') + 1);
    const bool known = email.find('@') != std::string::npos &&
                       std::any_of(settings.domains.begin(), settings.domains.end(),
                                   [&](const std::string& each) { return Lower(each) == domain; });
    if (!known) return "the domain of the person's e-mail address is none of --oidc-domain";
  }
  const auto in = [&](const std::string& group) { return groups.contains(group); };
  if (!settings.groups.empty() && !std::any_of(settings.groups.begin(), settings.groups.end(), in))
    return NoGroup(claims, settings, "the person is in none of the groups of --oidc-allow-group");
  return "";
}

}  // namespace

const Json* FindClaim(const Json& claims, const std::string& path) {
  if (!claims.is_object()) return nullptr;
  if (const auto found = claims.find(path); found != claims.end()) return &*found;
  if (!path.starts_with('/')) return nullptr;
  try {
    const Json::json_pointer pointer(path);
    return claims.contains(pointer) ? &claims.at(pointer) : nullptr;
  } catch (const Json::exception&) {
    return nullptr;
  }
}

bool HasNeededClaims(const Json& claims, const OidcSettings& settings) {
  if (FindClaim(claims, settings.name_claim) == nullptr) return false;
  if (NeedsEmail(settings) &&
      (FindClaim(claims, kEmail) == nullptr || FindClaim(claims, "email_verified") == nullptr))
    return false;
  return !NeedsGroups(settings) || FindClaim(claims, settings.groups_claim) != nullptr;
}

OidcPerson ReadPerson(const Json& claims, const OidcSettings& settings) {
  OidcPerson person;
  person.issuer = settings.issuer;
  person.subject = TextAt(claims, "sub");
  person.name = TextAt(claims, settings.name_claim);
  for (const std::string& text : settings.persons) {
    const OidcPair pair = SplitOidcPair(text);
    if (pair.second != person.subject) continue;
    person.name = pair.first;
    person.granted = true;
  }
  const std::set<std::string> groups = GroupsOf(claims, settings);
  person.refused = WhyNot(claims, groups, settings);
  if (person.refused.empty()) person.refused = WrongName(person.name);
  if (!person.refused.empty()) return person;
  person.role = RoleOfGroups(groups, settings);
  if (person.role.empty())
    person.refused =
        NoGroup(claims, settings,
                "the person is in none of the groups of --oidc-role, and there is no --oidc-default-role");
  for (const std::string& text : settings.projects) {
    const OidcPair pair = SplitOidcPair(text);
    const auto same = std::find_if(person.projects.begin(), person.projects.end(),
                                   [&](const auto& each) { return each.first == pair.first; });
    if (same == person.projects.end()) {
      person.projects.emplace_back(pair.first, groups.contains(pair.second));
    } else {
      same->second = same->second || groups.contains(pair.second);
    }
  }
  return person;
}

}  // namespace winnow
