#include "tests/trainers/collective/credentials.h"

#include <cstdlib>
#include <fstream>

#include "base/rank_name.h"
#include "server/host/rank_authority.h"

namespace winnow {

Credentials::Credentials(int ranks, int attempt, std::time_t now) : attempt_(attempt) {
  std::string name = (std::filesystem::temp_directory_path() / "winnow-credentials-XXXXXX").string();
  root_ = mkdtemp(name.data());
  const auto issued = IssueRankCredentials("test", 1, attempt, ranks, now).value();
  for (int rank = 0; rank < ranks; ++rank) {
    std::filesystem::create_directory(folder(rank));
    std::ofstream(folder(rank) / kRankAuthorityFile) << issued[rank].authority();
    std::ofstream(folder(rank) / kRankCertificateFile) << issued[rank].certificate();
    std::ofstream(folder(rank) / kRankKeyFile) << issued[rank].private_key();
  }
}

Credentials::~Credentials() { std::filesystem::remove_all(root_); }

std::shared_ptr<const RankIdentity> Credentials::Identity(int rank) const {
  constexpr uint64_t kRecordsPerKey = 50;
  const auto name_of = [attempt = std::to_string(attempt_)](int of) {
    return RankName("test", "1", attempt, of);
  };
  return RankIdentity::Read(folder(rank), rank, name_of, kRecordsPerKey).value();
}

}  // namespace winnow
