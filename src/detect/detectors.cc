#include "detect/detector.h"

namespace faultline {

#define FAULTLINE_DETECTOR(NAME) std::unique_ptr<Detector> make_##NAME(const Catalog& catalog);
#include "detect/detectors.def"
#undef FAULTLINE_DETECTOR

std::vector<std::unique_ptr<Detector>> make_detectors(const Catalog& catalog) {
  std::vector<std::unique_ptr<Detector>> detectors;
#define FAULTLINE_DETECTOR(NAME) detectors.push_back(make_##NAME(catalog));
#include "detect/detectors.def"
#undef FAULTLINE_DETECTOR
  return detectors;
}

}  // namespace faultline
