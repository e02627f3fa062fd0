/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What the right size of a model is: its knee, and the batch and share that get most out of a GPU.
 */
#ifndef SCENARIOS_MULTIPLEX_KNEE_H
#define SCENARIOS_MULTIPLEX_KNEE_H

#include "scenarios/multiplex/share-curve.h"

#include <cstdint>
#include <vector>

namespace multiplex
{

/// Shares are multiples of this, per cent: iGniter's unit (context.unit of its
/// igniter-algorithm.py).
constexpr double kShareUnit = 2.5;

/// The knee as published figures show it, of a curve from 10% of the GPU on (A. Dhakal, S.
/// Kulkarni, K. K. Ramakrishnan, D-STACK, arXiv 2304.13541): the share after which 10% more of the
/// GPU bring less than 5% of the latency at 10%. A multiple of 5; 100: there is none.
double KneeOf(const ShareCurve& curve, uint32_t batch);

/// The share after which 10% more of the GPU bring less than 5% of the latency there. A multiple of
/// 5, at least the knee; 100: latency falls by 5% or more up to the end.
double FlatFrom(const ShareCurve& curve, uint32_t batch);

/// A batch and its share.
struct RightSize
{
    uint32_t batch = 1;
    double percent = kWholeGpu;
    double seconds = 0; ///< its latency
    bool keepsUp = false;
};

/// The share, or the next larger one at which the latency of a batch is known: below the shares of
/// a table, work for a share is taken to be constant. \pre it is known for a whole GPU
double KnownShare(const ShareCurve& curve, uint32_t batch, double percent);

/// The smallest batch up to `most` whose latency on a whole GPU is known; 0: none.
uint32_t LeastKnownBatch(const ShareCurve& curve, uint32_t most);

/// What a share is chosen for.
struct Need
{
    double slo = 0;     ///< s, of a request
    double rate = 0;    ///< requests/s
    uint32_t batch = 0; ///< fixed; 0: free
    double percent = 0; ///< fixed; 0: free
    uint32_t mostBatch = 1;
};

/// The largest batch with a latency of at most half of the SLO, so that a request that just misses
/// one batch is in time with the next (D-STACK, GSLICE and iGniter all take half); else the largest
/// with at most the SLO; else 1.
uint32_t LargestInTime(const ShareCurve& curve, double percent, const Need& need);

/// Batches and shares of a model that meet its SLO: t at most half of it, or, if nothing does, all
/// of it; FlatFrom() is the largest share. What is fixed stays.
class RightSizes
{
  public:
    RightSizes(const ShareCurve& curve, const Need& need);

    /// The one that serves most requests for a share, greatest b / (t p), of those that keep up
    /// with a rate; if none does, the one that serves most.
    RightSize For(double rate) const;

  private:
    std::vector<RightSize> m_all;
};

/// The least work of a batch for any share, s of a whole GPU: min of t(p) p / 100. The share of a
/// kernel that it cannot use is not in it.
double LeastWork(const ShareCurve& curve, uint32_t batch);

} // namespace multiplex

#endif // SCENARIOS_MULTIPLEX_KNEE_H
