#pragma once

#include <string>
#include <string_view>

namespace winnow {

// The name in the certificate of a rank of an attempt, a URI: "winnow:job/mnist-2/trial/7/attempt/1/rank/0".
std::string RankName(std::string_view job, std::string_view trial, std::string_view attempt, int rank);

// The files of a rank's credentials (PEM), in a folder of theirs.
inline constexpr char kRankAuthorityFile[] = "authority.pem";  // has signed the certificates of all ranks
inline constexpr char kRankCertificateFile[] = "certificate.pem";
inline constexpr char kRankKeyFile[] = "key.pem";
// The variable that tells a trainer the folder.
inline constexpr char kRankCredentials[] = "WINNOW_RANK_CREDENTIALS";

}  // namespace winnow
