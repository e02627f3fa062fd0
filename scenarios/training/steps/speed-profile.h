/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How fast a GPU is over time, when it slows down or stops for a while (or for ever): the share of
 * its usual speed, 1 but for the spans that were added, whose shares are multiplied where they
 * overlap.
 *
 *     SpeedProfile speed;
 *     speed.Add({1000, 3000, 0.5});        // half as fast from 1000 ps to 3000 ps
 *     speed.EndOf(0, 1500)                 // 2000: 1000 ps as ever, 500 at half the speed
 */
#ifndef SCENARIOS_TRAINING_STEPS_SPEED_PROFILE_H
#define SCENARIOS_TRAINING_STEPS_SPEED_PROFILE_H

#include <cstdint>
#include <vector>

namespace training
{

class SpeedProfile
{
  public:
    /// No computation ends then.
    static constexpr int64_t NEVER = INT64_MAX;

    struct Span
    {
        int64_t from;  ///< ps
        int64_t until; ///< ps; NEVER: for ever
        double share;  ///< share of the usual speed, 0 to 1
    };

    void Add(const Span& span);

    /// Whether the GPU does nothing at a time, ps.
    bool IsStopped(int64_t now) const;
    /// \return when it does something again, ps: now if it does; NEVER
    int64_t ResumesAt(int64_t now) const;
    /// \return when it stopped, if it is stopped then for ever; else now
    int64_t StoppedForGood(int64_t now) const;
    /// \return the work of `from` to `until`, in ps at the usual speed
    int64_t WorkIn(int64_t from, int64_t until) const;
    /// \return when so much work that begins at `from` is done, ps, rounded up; NEVER
    int64_t EndOf(int64_t from, int64_t work) const;

  private:
    /// From a time on, until the next one.
    struct Piece
    {
        int64_t from;
        double share;
    };

    const Piece* PieceAt(int64_t now) const;

    std::vector<Span> m_spans;
    std::vector<Piece> m_pieces; ///< ascending; before the first one the share is 1
};

} // namespace training

#endif // SCENARIOS_TRAINING_STEPS_SPEED_PROFILE_H
