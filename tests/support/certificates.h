#pragma once

#include <string>

namespace winnow {

// Certificates of an authority of its own, made by the program openssl in a folder. What does not work
// throws.
class Certificates {
 public:
  // Makes the authority's: ca.pem.
  explicit Certificates(std::string folder);

  std::string ca() const { return folder_ + "/ca.pem"; }
  // Makes NAME.pem and NAME.key, for 127.0.0.1 and localhost, valid from now for `days`; below 0: it has
  // expired.
  void Make(const std::string& name, int days = 2) const;
  // Puts the key, then the certificate, of that name of other certificates in place of these, each at once.
  void Replace(const std::string& name, const Certificates& others) const;
  std::string cert(const std::string& name) const { return folder_ + "/" + name + ".pem"; }
  std::string key(const std::string& name) const { return folder_ + "/" + name + ".key"; }

 private:
  std::string folder_;
};

}  // namespace winnow
