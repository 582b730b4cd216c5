#include "server/http/origin.h"

#include <algorithm>

#include "rpc/address.h"

namespace winnow {
namespace {

constexpr size_t kLongestToken = 256;

bool IsTokenCharacter(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
}

bool IsPrintable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c <= 0x7e; });
}

std::string_view Trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::string_view CookieOf(const HttpRequest& request, std::string_view name) {
  std::string_view rest = request.header("cookie");
  std::string_view found;
  while (!rest.empty()) {
    const size_t end = rest.find_first_of(";,");
    const std::string_view cookie = Trimmed(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    const size_t equals = cookie.find('=');
    if (equals == std::string_view::npos || cookie.substr(0, equals) != name) continue;
    const std::string_view value = cookie.substr(equals + 1);
    if (!found.empty() && found != value) return "";
    found = value;
  }
  return found;
}

std::string TokenCookie(const std::string& token, bool secure) {
  return std::string(kTokenCookie) + "=" + token + "; HttpOnly; SameSite=Strict; Path=/" +
         (secure ? "; Secure" : "");
}

bool LooksLikeToken(std::string_view text) {
  return !text.empty() && text.size() <= kLongestToken &&
         std::all_of(text.begin(), text.end(), IsTokenCharacter);
}

std::string AuthorizationOf(const HttpRequest& request) {
  if (const std::string_view header = request.header("authorization"); !header.empty()) {
    return IsPrintable(header) ? std::string(header) : "";
  }
  const std::string_view cookie = CookieOf(request, kTokenCookie);
  return LooksLikeToken(cookie) ? "Bearer " + std::string(cookie) : "";
}

bool HostIsLoopback(std::string_view host) {
  const bool has_port = host.rfind(':') != std::string_view::npos && !host.ends_with(']');
  const auto address = ParseAddress(std::string(host) + (has_port ? "" : ":80"), 0);
  return address.ok() && address->kind == Address::Kind::kLoopback;
}

bool FromAnotherSite(const HttpRequest& request) {
  const std::string_view site = request.header("sec-fetch-site");
  if (!site.empty()) return site != "same-origin" && site != "none";
  std::string_view origin = request.header("origin");
  if (origin.empty()) return false;
  const size_t scheme = origin.find("://");
  if (scheme == std::string_view::npos) return true;  // "null"
  origin.remove_prefix(scheme + 3);
  return origin != request.header("host");
}

}  // namespace winnow
