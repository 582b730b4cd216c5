#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/engine/answers/requester.h"
#include "server/engine/coordinator.h"
#include "store/tokens.h"
#include "winnow/v1/admin.pb.h"

namespace winnow {

// The use cases of tokens, posted to the coordinator; completions run on its thread, after the commit.

struct MadeToken {
  TokenRow row;
  std::string secret;  // not stored anywhere
};
// INVALID_ARGUMENT names the field. The token's times are of the coordinator's clock. The audit log has an
// entry, here and below.
void CreateToken(Coordinator& coordinator, const v1::CreateTokenRequest& request, const Requester& by,
                 Coordinator::Done<MadeToken> done);
void ListTokens(Coordinator& coordinator, Coordinator::Done<std::vector<TokenRow>> done);
// NOT_FOUND names the id.
void RevokeToken(Coordinator& coordinator, const std::string& id, const Requester& by,
                 Coordinator::Done<TokenRow> done);

// A worker's token that is bound to an allocation, by its name: the token's holder can register that
// allocation's workers alone. The token is not stored yet, and create_us is not set.
absl::StatusOr<MadeToken> MakeAllocationToken(const std::string& allocation);
// The allocation to which a token of that name is bound; "": none.
std::string AllocationOfToken(const std::string& token_name);

v1::Token ToMessage(const TokenRow& row);

}  // namespace winnow
