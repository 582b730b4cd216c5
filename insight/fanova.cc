#include "insight/fanova.h"

#include <algorithm>
#include <cmath>

namespace winnow {
namespace {

// The leaves of a tree as boxes.
struct Boxes {
  std::vector<std::vector<double>> low, high;  // by dimension, then leaf
  std::vector<double> value;
  std::vector<double> volume;
};

class BoxMaker {
 public:
  BoxMaker(const Forest::Tree& tree, size_t dimensions)
      : tree_(tree), low_(dimensions, 0.0), high_(dimensions, 1.0) {
    boxes_.low.resize(dimensions);
    boxes_.high.resize(dimensions);
    Visit(0);
  }
  Boxes Take() { return std::move(boxes_); }

 private:
  // The recursion is as deep as the tree, some dozens.
  void Visit(int index) {
    const Forest::Node& node = tree_[index];
    if (node.dimension < 0) {
      double volume = 1;
      for (size_t d = 0; d < low_.size(); ++d) {
        boxes_.low[d].push_back(low_[d]);
        boxes_.high[d].push_back(high_[d]);
        volume *= high_[d] - low_[d];
      }
      boxes_.value.push_back(node.value);
      boxes_.volume.push_back(volume);
      return;
    }
    const double high = high_[node.dimension], low = low_[node.dimension];
    high_[node.dimension] = node.cut;
    Visit(node.below);
    high_[node.dimension] = high;
    low_[node.dimension] = node.cut;
    Visit(node.below + 1);
    low_[node.dimension] = low;
  }

  const Forest::Tree& tree_;
  std::vector<double> low_, high_;
  Boxes boxes_;
};

// The axis of a dimension, cut at each cut of the tree, and for each leaf the segments that it covers:
// [first, last).
struct Segments {
  std::vector<double> edges;  // from 0 to 1
  std::vector<size_t> first, last;

  size_t count() const { return edges.size() - 1; }
  size_t At(double place) const {
    const auto above = std::upper_bound(edges.begin() + 1, edges.end() - 1, place);
    return static_cast<size_t>(above - edges.begin()) - 1;
  }
  double width(size_t i) const { return edges[i + 1] - edges[i]; }
};

Segments MakeSegments(const std::vector<double>& low, const std::vector<double>& high) {
  Segments segments;
  segments.edges = low;
  segments.edges.insert(segments.edges.end(), high.begin(), high.end());
  std::sort(segments.edges.begin(), segments.edges.end());
  segments.edges.erase(std::unique(segments.edges.begin(), segments.edges.end()), segments.edges.end());
  const auto place = [&](double edge) {
    return static_cast<size_t>(std::lower_bound(segments.edges.begin(), segments.edges.end(), edge) -
                               segments.edges.begin());
  };
  for (size_t leaf = 0; leaf < low.size(); ++leaf) {
    segments.first.push_back(place(low[leaf]));
    segments.last.push_back(place(high[leaf]));
  }
  return segments;
}

// Returns the marginal over one dimension, by segment: a leaf contributes volume / width to each segment it
// covers. `value`: the value of each leaf.
std::vector<double> MarginalOf(const Boxes& boxes, const Segments& segments, size_t dimension,
                               const std::vector<double>& value) {
  std::vector<double> rises(segments.count() + 1);
  for (size_t leaf = 0; leaf < value.size(); ++leaf) {
    const double part =
        value[leaf] * boxes.volume[leaf] / (boxes.high[dimension][leaf] - boxes.low[dimension][leaf]);
    rises[segments.first[leaf]] += part;
    rises[segments.last[leaf]] -= part;
  }
  std::vector<double> marginal(segments.count());
  double sum = 0;
  for (size_t i = 0; i < marginal.size(); ++i) marginal[i] = sum += rises[i];
  return marginal;
}

double VarianceOfOne(const Boxes& boxes, const Segments& segments, size_t dimension,
                     const std::vector<double>& value) {
  const std::vector<double> marginal = MarginalOf(boxes, segments, dimension, value);
  double variance = 0;
  for (size_t i = 0; i < marginal.size(); ++i) variance += segments.width(i) * marginal[i] * marginal[i];
  return variance;
}

// The marginal over two dimensions: rectangles of segments, a row of b.count() + 1 cells for each segment of
// `a`, filled by differences at the leaves' corners.
void MarginalOfTwo(const Boxes& boxes, const Segments& a, const Segments& b, size_t first, size_t second,
                   const std::vector<double>& value, std::vector<double>& cells) {
  const size_t wide = b.count() + 1;
  cells.assign((a.count() + 1) * wide, 0.0);
  for (size_t leaf = 0; leaf < value.size(); ++leaf) {
    const double part = value[leaf] * boxes.volume[leaf] /
                        (boxes.high[first][leaf] - boxes.low[first][leaf]) /
                        (boxes.high[second][leaf] - boxes.low[second][leaf]);
    cells[a.first[leaf] * wide + b.first[leaf]] += part;
    cells[a.first[leaf] * wide + b.last[leaf]] -= part;
    cells[a.last[leaf] * wide + b.first[leaf]] -= part;
    cells[a.last[leaf] * wide + b.last[leaf]] += part;
  }
  for (size_t i = 0; i < a.count(); ++i) {
    double row = 0;
    for (size_t j = 0; j < b.count(); ++j) {
      row += cells[i * wide + j];
      cells[i * wide + j] = row + (i > 0 ? cells[(i - 1) * wide + j] : 0);
    }
  }
}

double VarianceOfTwo(const Boxes& boxes, const Segments& a, const Segments& b, size_t first, size_t second,
                     const std::vector<double>& value, std::vector<double>& cells) {
  MarginalOfTwo(boxes, a, b, first, second, value, cells);
  double variance = 0;
  for (size_t i = 0; i < a.count(); ++i) {
    double of_row = 0;
    for (size_t j = 0; j < b.count(); ++j) {
      const double marginal = cells[i * (b.count() + 1) + j];
      of_row += b.width(j) * marginal * marginal;
    }
    variance += a.width(i) * of_row;
  }
  return variance;
}

// Mean and deviation of the added values.
struct Moments {
  double sum = 0, squares = 0;
  void Add(double value) {
    sum += value;
    squares += value * value;
  }
  Share Of(int count) const {
    if (count == 0) return {};
    const double mean = sum / count;
    return {mean, std::sqrt(std::max(0.0, squares / count - mean * mean))};
  }
};

std::vector<Share> SharesOf(const std::vector<Moments>& moments, const Forest& forest) {
  std::vector<Share> shares;
  for (const Moments& of_place : moments)
    shares.push_back(of_place.Of(static_cast<int>(forest.trees().size())));
  return shares;
}

}  // namespace

Fanova Analyse(const Forest& forest, const std::function<bool()>& gone) {
  const size_t dimensions = forest.dimensions();
  Fanova fanova;
  std::vector<Moments> singles(dimensions), pairs(dimensions * dimensions);
  std::vector<double> cells;
  for (const Forest::Tree& tree : forest.trees()) {
    if (gone && gone()) break;
    Boxes boxes = BoxMaker(tree, dimensions).Take();
    double mean = 0, variance = 0;
    for (size_t leaf = 0; leaf < boxes.value.size(); ++leaf) mean += boxes.volume[leaf] * boxes.value[leaf];
    // Centred, so that the mean of every marginal is zero.
    for (double& value : boxes.value) value -= mean;
    for (size_t leaf = 0; leaf < boxes.value.size(); ++leaf)
      variance += boxes.volume[leaf] * boxes.value[leaf] * boxes.value[leaf];
    if (!(variance > 0)) continue;
    ++fanova.varied;
    std::vector<Segments> segments;
    std::vector<double> alone(dimensions);
    for (size_t d = 0; d < dimensions; ++d) {
      segments.push_back(MakeSegments(boxes.low[d], boxes.high[d]));
      alone[d] = segments[d].count() > 1 ? VarianceOfOne(boxes, segments[d], d, boxes.value) : 0;
      singles[d].Add(alone[d] / variance);
    }
    for (size_t a = 0; a < dimensions; ++a) {
      for (size_t b = a + 1; b < dimensions; ++b) {
        if (segments[a].count() == 1 || segments[b].count() == 1) continue;
        const double both = VarianceOfTwo(boxes, segments[a], segments[b], a, b, boxes.value, cells);
        pairs[a * dimensions + b].Add(std::max(0.0, both - alone[a] - alone[b]) / variance);
      }
    }
  }
  for (size_t a = 0; a < dimensions; ++a) {
    fanova.singles.push_back(singles[a].Of(fanova.varied));
    for (size_t b = a + 1; b < dimensions; ++b)
      fanova.pairs.push_back({a, b, pairs[a * dimensions + b].Of(fanova.varied)});
  }
  return fanova;
}

std::vector<Share> Marginal(const Forest& forest, size_t dimension, const std::vector<double>& places) {
  std::vector<Moments> moments(places.size());
  for (const Forest::Tree& tree : forest.trees()) {
    const Boxes boxes = BoxMaker(tree, forest.dimensions()).Take();
    const Segments segments = MakeSegments(boxes.low[dimension], boxes.high[dimension]);
    const std::vector<double> marginal = MarginalOf(boxes, segments, dimension, boxes.value);
    for (size_t i = 0; i < places.size(); ++i) {
      moments[i].Add(marginal[segments.At(places[i])]);
    }
  }
  return SharesOf(moments, forest);
}

std::vector<Share> JointMarginal(const Forest& forest, size_t first, const std::vector<double>& first_places,
                                 size_t second, const std::vector<double>& second_places) {
  std::vector<Moments> moments(first_places.size() * second_places.size());
  std::vector<double> cells;
  for (const Forest::Tree& tree : forest.trees()) {
    const Boxes boxes = BoxMaker(tree, forest.dimensions()).Take();
    const Segments a = MakeSegments(boxes.low[first], boxes.high[first]);
    const Segments b = MakeSegments(boxes.low[second], boxes.high[second]);
    MarginalOfTwo(boxes, a, b, first, second, boxes.value, cells);
    size_t next = 0;
    for (const double place : first_places) {
      const size_t row = a.At(place) * (b.count() + 1);
      for (const double other : second_places) moments[next++].Add(cells[row + b.At(other)]);
    }
  }
  return SharesOf(moments, forest);
}

}  // namespace winnow
