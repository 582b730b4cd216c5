#pragma once

#include <Eigen/Core>
#include <functional>
#include <vector>

namespace winnow {

// One coordinate of a density: a number in [0, 1], or a category 0, 1, … written as a double. NaN: inactive.
struct DensityAxis {
  int categories = 0;          // 0: a number
  double least_bandwidth = 0;  // of a number's kernel
};

// An estimate of the density that points were drawn from: the mean of one product of kernels per point and of
// the uniform density, which stands for what is not known yet (as in Bergstra et al. 2011, section 4.2). A
// number's kernel is a normal density truncated to [0, 1], a category's that of Aitchison and Aitken (1976).
// Multivariate, as in BOHB (Falkner et al. 2018, section 3.2): dependences between coordinates are seen. The
// density is over a point's active coordinates. A kernel whose own point is inactive in one of them is
// uniform there.
class KernelDensity {
 public:
  // One column per point; there may be none.
  KernelDensity(std::vector<DensityAxis> axes, Eigen::MatrixXd points);

  double LogDensity(const Eigen::VectorXd& point) const;

  // A point drawn from it, all of its coordinates active. `uniform` gives numbers in [0, 1), each by itself.
  Eigen::VectorXd Draw(const std::function<double()>& uniform) const;

 private:
  double LogKernel(Eigen::Index axis, Eigen::Index point, double at) const;

  std::vector<DensityAxis> axes_;
  Eigen::MatrixXd points_;
  Eigen::VectorXd bandwidths_;  // of numbers
  Eigen::MatrixXd log_peaks_;   // of each point's kernels: at the point itself; by axis and point
};

}  // namespace winnow
