#pragma once

#include <string>

#include "cli/session/session.h"

// `winnow login` and `winnow logout`: signing in with the server's OpenID Connect provider.
namespace winnow::cli {

struct LoginOptions {
  std::string http;     // the server's --http address; "": of the context, or port 8080 of the server's host
  std::string context;  // the name of a new context; "": the server's host
};
// Shows a URL and a code, waits until somebody has confirmed them in a browser, and keeps the token in the
// context that is in force, or else in a new one.
Exit Login(Session& session, const LoginOptions& options);
// Has the server revoke that token, and removes it from the context.
Exit Logout(Session& session, const LoginOptions& options);

}  // namespace winnow::cli
