#include <cstdint>

#include "cli/commands.h"
#include "cli/commands/token.h"
#include "cli/validators.h"

namespace winnow::cli {
namespace {

constexpr int64_t kMostDays = 36'500;
constexpr size_t kLongestName = 128;
constexpr size_t kLongestId = 64;

}  // namespace

void Commands::DefineTokens() {
  Flags& f = flags_;
  CLI::App* token = Add("token", "Create, list and revoke access tokens",
                        Formats::kTextJson, [&f](Session& session) { return f.token_run(session); });
  token->require_subcommand(1);

  CLI::App* create = token->add_subcommand("create", "Create a token; it is printed once and never again");
  create->fallthrough();
  create->add_option("--role", f.create_token.role, "viewer, submitter, worker or admin")
      ->required()
      ->check(WordOf({"viewer", "submitter", "worker", "admin"}))
      ->option_text("ROLE REQUIRED");
  create
      ->add_option("--name", f.create_token.name,
                   "who or what uses it, shown in lists and as the owner of jobs")
      ->check(NotEmpty(kLongestName))
      ->option_text("NAME");
  create->add_option("--days", f.create_token.days, "days until it expires (default: never)")
      ->check(Whole(1, kMostDays))
      ->option_text("N");
  create->callback(
      [&f] { f.token_run = [&f](Session& session) { return CreateToken(session, f.create_token); }; });

  CLI::App* list = token->add_subcommand("list", "List tokens, without their secrets");
  list->fallthrough();
  list->callback([&f] { f.token_run = [](Session& session) { return ListTokens(session); }; });

  CLI::App* revoke = token->add_subcommand("revoke", "Revoke a token: it is refused from now on");
  revoke->fallthrough();
  revoke->add_option("TOKEN", f.token, "its id, as listed")
      ->required()
      ->check(NotEmpty(kLongestId))
      ->option_text(" ");
  revoke->callback([&f] { f.token_run = [&f](Session& session) { return RevokeToken(session, f.token); }; });
}

}  // namespace winnow::cli
