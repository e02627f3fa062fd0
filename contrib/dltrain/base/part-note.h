/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_PART_NOTE_H
#define DLTRAIN_PART_NOTE_H

#include "reports/base/records.h"

#include <cstdint>

namespace dltrain
{

/// A reports::CollectivePart as it goes to another process: the algorithm as its place in the
/// registry. Sizes of blocks do not go along; each rank has compared its own members' by then.
class PartNote
{
  public:
    explicit PartNote(const reports::CollectivePart& part);

    reports::CollectivePart GetPart() const;

  private:
    reports::CollectivePart m_part; ///< without pointers
    uint32_t m_algorithm;
};

} // namespace dltrain

#endif // DLTRAIN_PART_NOTE_H
