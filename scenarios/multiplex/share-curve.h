/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The latency of a model by its batch and its share of a GPU, alone on that GPU. Three kinds:
 *
 *   table     measured; between its points bilinear in (batch, 1 / share), beyond them by at most
 *             one step (TableCurve)
 *   fitted    t = (k1 b^2 + k2 b + k3) / (p + k4) + k5 b + k6, as iGniter has it (F. Xu et al.,
 *             iGniter: Interference-Aware GPU Resource Provisioning for Predictable DNN Inference
 *             in the Cloud, IEEE TPDS 34(3), 2023; activetime_func of icloud-ecnu/igniter
 *             i-Gniter/Algorithm/igniter-algorithm.py; k5 b: its transfers) (FittedCurve)
 *   kernels   the model's kernels, each on a part of the multiprocessors (kernel-curve.h)
 */
#ifndef SCENARIOS_MULTIPLEX_SHARE_CURVE_H
#define SCENARIOS_MULTIPLEX_SHARE_CURVE_H

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace multiplex
{

/// Per cent of a GPU.
constexpr double kWholeGpu = 100;

/// The share below which work for a share is constant: forms are not measured there (assumed).
constexpr double kLeastShare = 5;

class ShareCurve
{
  public:
    virtual ~ShareCurve() = default;

    /// s, above 0. \param percent above 0, at most 100. \pre WhyNot() is empty
    virtual double Seconds(uint32_t batch, double percent) const = 0;

    /// Why the latency there is not known; empty: it is.
    virtual std::string WhyNot(uint32_t batch, double percent) const = 0;

    /// The largest batch that is known at all shares.
    virtual uint32_t LargestBatch() const = 0;

    /// "table", "fitted", "kernels".
    virtual std::string Kind() const = 0;
};

using CurvePointer = std::shared_ptr<const ShareCurve>;

/// A measured latency.
struct CurvePoint
{
    uint32_t batch = 1;
    double percent = kWholeGpu;
    double seconds = 0;
};

/// See above.
class TableCurve : public ShareCurve
{
  public:
    /// \pre not empty; no two with the same batch and share
    explicit TableCurve(const std::vector<CurvePoint>& points);

    double Seconds(uint32_t batch, double percent) const override;
    std::string WhyNot(uint32_t batch, double percent) const override;
    uint32_t LargestBatch() const override;

    std::string Kind() const override
    {
        return "table";
    }

  private:
    /// Seconds by 1 / share, ascending.
    using Row = std::vector<std::pair<double, double>>;

    /// The two batches to draw a line through; one twice: it stands in the table.
    std::pair<uint32_t, uint32_t> Around(uint32_t batch) const;

    std::map<uint32_t, Row> m_rows;
};

/// k1 to k6 of the form above, in ms and per cent.
using FormConstants = std::array<double, 6>;

class FittedCurve : public ShareCurve
{
  public:
    FittedCurve(const FormConstants& constants, uint32_t largestBatch)
        : m_k(constants),
          m_largestBatch(largestBatch)
    {
    }

    double Seconds(uint32_t batch, double percent) const override;
    std::string WhyNot(uint32_t batch, double percent) const override;

    uint32_t LargestBatch() const override
    {
        return m_largestBatch;
    }

    std::string Kind() const override
    {
        return "fitted";
    }

    const FormConstants& Constants() const
    {
        return m_k;
    }

  private:
    FormConstants m_k;
    uint32_t m_largestBatch;
};

/// A fit, and how far off it is at the points that it was fitted to: |error| / measured.
struct Fit
{
    FormConstants k{};
    double median = 0;
    double p90 = 0;
    std::string why; ///< it cannot be fitted; empty: it is
};

/// Least squares of relative errors: linear in all but k4, for which a grid is searched. Needs
/// three batches and three shares.
Fit FitForm(const std::vector<CurvePoint>& points);

} // namespace multiplex

#endif // SCENARIOS_MULTIPLEX_SHARE_CURVE_H
