#pragma once

#include <string>

namespace winnow {

// Certificates of a separate authority, made by the program openssl in a folder. Errors throw.
class Certificates {
 public:
  // Makes the authority's: ca.pem.
  explicit Certificates(std::string folder);

  std::string ca() const { return folder_ + "/ca.pem"; }
  // Makes NAME.pem and NAME.key, for 127.0.0.1 and localhost, valid from now for `days`; below 0: expired.
  void Make(const std::string& name, int days = 2) const;
  // The same, valid from the year 2099.
  void MakeEarly(const std::string& name) const;
  // Replaces the key, then the certificate, of that name by those of other certificates, each atomically.
  void Replace(const std::string& name, const Certificates& others) const;
  std::string cert(const std::string& name) const { return folder_ + "/" + name + ".pem"; }
  std::string key(const std::string& name) const { return folder_ + "/" + name + ".key"; }

 private:
  // Makes NAME.key and NAME.csr.
  void Request(const std::string& name) const;

  std::string folder_;
};

}  // namespace winnow
