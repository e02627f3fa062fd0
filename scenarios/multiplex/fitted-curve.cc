/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * iGniter's form of the latency, and its fit to measured ones.
 */
#include "scenarios/multiplex/share-curve.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace multiplex
{

namespace
{

constexpr std::size_t TERMS = 5; // all but k4

std::array<double, TERMS>
TermsOf(double k4, double batch, double percent)
{
    const double inverse = 1 / (percent + k4);
    return {batch * batch * inverse, batch * inverse, inverse, batch, 1};
}

double
FormMs(const FormConstants& k, double batch, double percent)
{
    return (k[0] * batch * batch + k[1] * batch + k[2]) / (percent + k[3]) + k[4] * batch + k[5];
}

/// Solves the least squares of relative errors for one k4, by Gram-Schmidt (twice, for exactness).
/// \return their sum of squares; infinite: the points do not tell the terms apart
double
SolveFor(double k4, const std::vector<CurvePoint>& points, FormConstants* k)
{
    const std::size_t n = points.size();
    std::array<std::vector<double>, TERMS> q;
    double r[TERMS][TERMS] = {};
    for (auto& column : q)
    {
        column.resize(n);
    }
    for (std::size_t i = 0; i < n; ++i)
    {
        const auto terms = TermsOf(k4, points[i].batch, points[i].percent);
        for (std::size_t j = 0; j < TERMS; ++j)
        {
            q[j][i] = terms[j] / (points[i].seconds * 1e3);
        }
    }
    const auto dot = [n](const std::vector<double>& a, const std::vector<double>& b) {
        double sum = 0;
        for (std::size_t i = 0; i < n; ++i)
        {
            sum += a[i] * b[i];
        }
        return sum;
    };
    std::vector<double> rest(n, 1.0);
    std::array<double, TERMS> right{};
    for (std::size_t j = 0; j < TERMS; ++j)
    {
        const double before = std::sqrt(dot(q[j], q[j]));
        for (int again = 0; again < 2; ++again)
        {
            for (std::size_t l = 0; l < j; ++l)
            {
                const double part = dot(q[l], q[j]);
                r[l][j] += part;
                for (std::size_t i = 0; i < n; ++i)
                {
                    q[j][i] -= part * q[l][i];
                }
            }
        }
        r[j][j] = std::sqrt(dot(q[j], q[j]));
        if (!(r[j][j] > 1e-9 * before))
        {
            return INFINITY;
        }
        for (double& value : q[j])
        {
            value /= r[j][j];
        }
        right[j] = dot(q[j], rest);
        for (std::size_t i = 0; i < n; ++i)
        {
            rest[i] -= right[j] * q[j][i];
        }
    }
    std::array<double, TERMS> x{};
    for (std::size_t j = TERMS; j-- > 0;)
    {
        double value = right[j];
        for (std::size_t l = j + 1; l < TERMS; ++l)
        {
            value -= r[j][l] * x[l];
        }
        x[j] = value / r[j][j];
    }
    *k = {x[0], x[1], x[2], k4, x[3], x[4]};
    return dot(rest, rest);
}

} // namespace

double
FittedCurve::Seconds(uint32_t batch, double percent) const
{
    const double known = std::max(percent, kLeastShare);
    return FormMs(m_k, batch, known) * 1e-3 * known / percent;
}

std::string
FittedCurve::WhyNot(uint32_t batch, double percent) const
{
    // A form that was fitted may go below 0 away from its points.
    return Seconds(batch, percent) > 0
               ? ""
               : "the fitted form goes below 0 at batch " + std::to_string(batch);
}

Fit
FitForm(const std::vector<CurvePoint>& points)
{
    Fit fit;
    std::set<uint32_t> batches;
    std::set<double> shares;
    for (const CurvePoint& point : points)
    {
        batches.insert(point.batch);
        shares.insert(point.percent);
    }
    if (batches.size() < 3 || shares.size() < 3 || points.size() < 7)
    {
        fit.why = "a fit needs seven latencies or more, of three batches and three shares";
        return fit;
    }
    // k4 from where the least share's denominator is half of it, in steps of 0.05 (iGniter's own
    // are between -1 and 8).
    double best = INFINITY;
    for (int step = 0; step <= 2000; ++step)
    {
        FormConstants k{};
        const double error = SolveFor(-*shares.begin() / 2 + 0.05 * step, points, &k);
        if (error < best)
        {
            best = error;
            fit.k = k;
        }
    }
    if (std::isinf(best))
    {
        fit.why = "the latencies do not tell the terms of the form apart";
        return fit;
    }
    std::vector<double> errors;
    for (const CurvePoint& point : points)
    {
        errors.push_back(
            std::abs(FormMs(fit.k, point.batch, point.percent) / (point.seconds * 1e3) - 1));
    }
    std::sort(errors.begin(), errors.end());
    fit.median = errors[errors.size() / 2];
    fit.p90 = errors[errors.size() * 9 / 10];
    return fit;
}

} // namespace multiplex
