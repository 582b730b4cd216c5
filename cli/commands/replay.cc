#include "cli/commands/actions.h"

#include <fmt/core.h>

#include "cli/output/format.h"
#include "cli/output/json.h"
#include "cli/output/text.h"

namespace winnow::cli {

Exit Replay(Session& session, const std::string& job, bool verify) {
  const auto answer = session.client().Replay(job);
  if (!answer.ok()) return answer.status();
  const bool same = answer->mismatch() == 0;
  if (session.output == Output::kJson) {
    session.out.Print(ToJson(*answer));
  } else if (same) {
    session.out.Print(fmt::format("{}: {} recorded, {} recomputed, all the same\n",
                                  session.out.Paint(Style::kGood, "verified"), Count(answer->facts(), "fact"),
                                  Thousands(answer->decisions())));
  } else {
    session.out.Print(fmt::format("{}: fact {} of {} differs\n  recorded  {}\n  expected  {}\n",
                                  session.out.Paint(Style::kBad, "not the same"),
                                  Thousands(answer->mismatch()), Thousands(answer->facts()),
                                  Clean(answer->recorded()), Clean(answer->expected())));
  }
  return same || !verify ? kSuccess : kFailure;
}

}  // namespace winnow::cli
