#pragma once

#include <string>
#include <string_view>

#include "server/http/message.h"

namespace winnow {

// Who asks, and whether a web page of somebody else made the browser ask.

inline constexpr char kTokenCookie[] = "winnow_token";

// Whether the text may be a token: letters, digits, '_', '-', at most 256. Such a text is safe in a cookie.
bool LooksLikeToken(std::string_view text);

// "Bearer …" as the header Authorization or, without one, the cookie says; "": neither, or one that cannot be
// a credential.
std::string AuthorizationOf(const HttpRequest& request);

// Whether the header Host names this machine's loopback: "localhost", 127.0.0.0/8 or [::1], with any port. A
// page of another site whose name was made to point here says another one.
bool HostIsLoopback(std::string_view host);

// Whether a browser says that a page of another site sent the request: by Sec-Fetch-Site, else by an Origin
// that is not our Host. Programs that are no browsers say neither.
bool FromAnotherSite(const HttpRequest& request);

}  // namespace winnow
