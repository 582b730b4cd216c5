#pragma once

#include <string>
#include <string_view>

#include "server/http/message.h"

namespace winnow {

// The caller's credentials, and whether another site's web page made the browser send the request.

inline constexpr char kTokenCookie[] = "winnow_token";

// Whether the text may be a token: letters, digits, '_', '-', at most 256. Such a text is safe in a cookie.
bool LooksLikeToken(std::string_view text);

// The value of the cookie of that name; "" if there is none, or if two differ.
std::string_view CookieOf(const HttpRequest& request, std::string_view name);

// The value of Set-Cookie for a token: no script reads it, and no other site's page sends it. `secure`: the
// browser sends it over TLS alone.
std::string TokenCookie(const std::string& token, bool secure);

// Returns "Bearer …" from the header Authorization or, without one, from the cookie; "": neither, or not a
// valid credential.
std::string AuthorizationOf(const HttpRequest& request);

// Whether the header Host names this machine's loopback: "localhost", 127.0.0.0/8 or [::1], with any port. A
// page of another site whose name resolves to this machine has another Host.
bool HostIsLoopback(std::string_view host);

// Whether a browser reports that a page of another site sent the request: by Sec-Fetch-Site, else by an
// Origin that is not our Host. Other programs send neither header.
bool FromAnotherSite(const HttpRequest& request);

}  // namespace winnow
