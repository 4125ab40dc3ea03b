// Made by scripts/fit_math.py: change it there.
#pragma once

#include <cstdint>

namespace teeny::compiler::coefficients {

// ---- exp(r) = 1 + r + r^2 q(r), |r| <= ln(2)/2; the weight makes exp(r) - 1 relatively exact
/// degree 4, largest weighted error 2^-25.8.
inline constexpr double expm1_f32[] = {
    0x1.fffffe0000000p-2, 0x1.5554b00000000p-3, 0x1.5556740000000p-5, 0x1.1227720000000p-7, 0x1.6bec240000000p-10};

// ---- 2^f = 1 + f h(f), |f| <= 1/2
/// degree 5, largest weighted error 2^-25.9.
inline constexpr double exp2_f32[] = {
    0x1.62e4300000000p-1, 0x1.ebfbdc0000000p-3, 0x1.c6aee80000000p-5, 0x1.3b2d4c0000000p-7, 0x1.5f3e560000000p-10,
    0x1.41fbd00000000p-13};

// ---- log(1 + f) = f + f^2 q(f), |f| <= 1/3
/// degree 8, largest weighted error 2^-26.6.
inline constexpr double log_f32[] = {
    -0x1.0000000000000p-1, 0x1.5555020000000p-2, -0x1.fffe840000000p-3, 0x1.99d1f20000000p-3, -0x1.55a7560000000p-3,
    0x1.1ebe7e0000000p-3, -0x1.f25d9e0000000p-4, 0x1.1ed0dc0000000p-3, -0x1.0932580000000p-3};

// ---- erf(a) = 1 - exp(-a (c + t Q(t))), t = a - 0.0, 0.0 <= a <= 4.0
/// c in two parts.
inline constexpr double erf_start0_f32[] = {
    0x1.20dd760000000p+0, -0x1.f7ac920000000p-25};

/// degree 8, largest weighted error 2^-28.5.
inline constexpr double erf0_f32[] = {
    0x1.45f3080000000p-1, 0x1.a4f3b20000000p-4, -0x1.393cfc0000000p-6, -0x1.074a480000000p-12,
    0x1.d7035c0000000p-10, -0x1.834bd80000000p-11, 0x1.5d67bc0000000p-13, -0x1.62d9160000000p-16,
    0x1.3b131a0000000p-20};

// ---- sin(r) = r + r^3 S(r^2) and cos(r) = 1 - r^2/2 + r^4 C(r^2), |r| <= pi/4
/// degree 2, largest weighted error 2^-27.9.
inline constexpr double sin_f32[] = {
    -0x1.5555460000000p-3, 0x1.1107780000000p-7, -0x1.9954060000000p-13};

/// degree 2, largest weighted error 2^-32.9.
inline constexpr double cos_f32[] = {
    0x1.55554a0000000p-5, -0x1.6c0c280000000p-10, 0x1.99e7de0000000p-16};

// ---- exp(r) = 1 + r + r^2 q(r), |r| <= ln(2)/2; the weight makes exp(r) - 1 relatively exact
/// degree 9, largest weighted error 2^-54.7.
inline constexpr double expm1_f64[] = {
    0x1.0000000000005p-1, 0x1.5555555555539p-3, 0x1.55555555522b6p-5, 0x1.1111111118f98p-7, 0x1.6c16c17edbd95p-10,
    0x1.a01a01751b152p-13, 0x1.a019a76edcf71p-16, 0x1.71de87f8f3b3ep-19, 0x1.28a1e04adaeaep-22,
    0x1.ae6bbd496ae75p-26};

// ---- 2^f = 1 + f h(f), |f| <= 1/2
/// degree 10, largest weighted error 2^-55.0.
inline constexpr double exp2_f64[] = {
    0x1.62e42fefa39efp-1, 0x1.ebfbdff82c5a4p-3, 0x1.c6b08d7049fe8p-5, 0x1.3b2ab6fba0118p-7, 0x1.5d87fe78cd6f8p-10,
    0x1.4309130ed8f7ap-13, 0x1.ffcbfba9776b3p-17, 0x1.62bfc79cfdff9p-20, 0x1.b5267cefa8fabp-24,
    0x1.e61b4ffa7fa2bp-28, 0x1.e79ba3b09ce95p-32};

// ---- log(1 + f) = 2 s + s^3 R(s^2), s = f / (2 + f), |s| <= 1/5
/// degree 7, largest weighted error 2^-62.5.
inline constexpr double log_f64[] = {
    0x1.555555555554fp-1, 0x1.999999999c176p-2, 0x1.24924921e5842p-2, 0x1.c71c748dd4d41p-3, 0x1.745c4b69a1c3ap-3,
    0x1.3b35add9594d8p-3, 0x1.0dccc3ca17885p-3, 0x1.1b7a84559c1bap-3};

// ---- erf(a) = 1 - exp(-a (c + t Q(t))), t = a - 0.0, 0.0 <= a <= 1.0
/// c in two parts.
inline constexpr double erf_start0_f64[] = {
    0x1.20dd750429b6dp+0, 0x1.1ae3a914fed80p-56};

/// degree 13, largest weighted error 2^-56.2.
inline constexpr double erf0_f64[] = {
    0x1.45f306dc9c868p-1, 0x1.a4f4e2a1b9c1bp-4, -0x1.39668597980f6p-6, -0x1.b6b66e06d4e12p-13,
    0x1.bca6584999769p-10, -0x1.35639a38f7c9cp-11, 0x1.b1470a1376ef3p-16, 0x1.0f2671954ee70p-14,
    -0x1.f806ecae5f42cp-16, 0x1.02d82f4af4ed5p-18, 0x1.45ab9df32bf80p-19, -0x1.a4764ad509bcep-20,
    0x1.bf623470a2887p-22, -0x1.92db190b63e85p-25};

// ---- erf(a) = 1 - exp(-a (c + t Q(t))), t = a - 1.0, 1.0 <= a <= 2.5
/// c in two parts.
inline constexpr double erf_start1_f64[] = {
    0x1.d97fbf27aa2a1p+0, 0x1.9b2f9379f1952p-57};

/// degree 13, largest weighted error 2^-58.0.
inline constexpr double erf1_f64[] = {
    0x1.942741b25c3d7p-1, 0x1.b847f67cc0599p-5, -0x1.8f40177be1014p-7, 0x1.19d90cdafa62cp-9, -0x1.6999cc21b6de5p-13,
    -0x1.1039922bbe9edp-14, 0x1.4429b504d3e9ep-15, -0x1.829836b2c973ep-17, 0x1.07e8cd988a455p-19,
    0x1.6b8800e342153p-25, -0x1.5089958f7c0d8p-23, 0x1.dac2b7b1d9a12p-25, -0x1.5a5e5133672e7p-27,
    0x1.c2c71925dbbadp-31};

// ---- erf(a) = 1 - exp(-a (c + t Q(t))), t = a - 2.5, 2.5 <= a <= 6.0
/// c in two parts.
inline constexpr double erf_start2_f64[] = {
    0x1.8fb57d3874941p+1, -0x1.a7bbb5cfbe21dp-57};

/// degree 13, largest weighted error 2^-68.3.
inline constexpr double erf2_f64[] = {
    0x1.c8b1d88ecdb8bp-1, 0x1.5435ad4c62b65p-6, -0x1.03b2972790421p-8, 0x1.78e62250d03edp-11,
    -0x1.f3de7e00f84d7p-14, 0x1.1ad8db3e16e14p-16, -0x1.b8a4817c96323p-20, -0x1.b1b93890c58a6p-25,
    0x1.5ffd27db26bf8p-24, -0x1.d378d99b20994p-26, 0x1.ad89e7009ecedp-28, -0x1.21781b0ce9062p-30,
    0x1.029cb21613d7fp-33, -0x1.c59092ca5703dp-38};

// ---- sin(r) = r + r^3 S(r^2) and cos(r) = 1 - r^2/2 + r^4 C(r^2), |r| <= pi/4
/// degree 5, largest weighted error 2^-57.9.
inline constexpr double sin_f64[] = {
    -0x1.5555555555548p-3, 0x1.111111110f730p-7, -0x1.a01a019be9176p-13, 0x1.71de355518cfcp-19,
    -0x1.ae5e4b70a0ceap-26, 0x1.5d8b502a0ebe1p-33};

/// degree 5, largest weighted error 2^-63.9.
inline constexpr double cos_f64[] = {
    0x1.555555555554bp-5, -0x1.6c16c16c15014p-10, 0x1.a01a019c8efa6p-16, -0x1.27e4f7f169451p-22,
    0x1.1ee9dbaf58a0ep-29, -0x1.8fa6726ea2ab3p-37};

// ---- constants as sums of shorter numbers: products with small integers are exact
/// ln(2), the first part of 14 bits.
inline constexpr double ln2_f32[] = {
    0x1.62e8000000000p-1, -0x1.e8082e0000000p-16};

/// ln(2), the first part of 40 bits.
inline constexpr double ln2_f64[] = {
    0x1.62e42fefa4000p-1, -0x1.8432a1b0e2634p-43};

/// log2(e).
inline constexpr double log2e_f32[] = {
    0x1.7154760000000p+0, 0x1.4ae0c00000000p-26};

/// log2(e).
inline constexpr double log2e_f64[] = {
    0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56};

/// pi/2 for fused reductions.
inline constexpr double half_pi_fused_f32[] = {
    0x1.921fb60000000p+0, -0x1.777a5c0000000p-25, -0x1.ee59da0000000p-50};

/// pi/2 for fused reductions.
inline constexpr double half_pi_fused_f64[] = {
    0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110};

/// pi/2 in parts of 13 bits.
inline constexpr double half_pi_short_f32[] = {
    0x1.9220000000000p+0, -0x1.2af0000000000p-18, 0x1.0b40000000000p-34, 0x1.84698a0000000p-48};

/// pi/2 in parts of 33 bits.
inline constexpr double half_pi_short_f64[] = {
    0x1.921fb54400000p+0, 0x1.0b4611a600000p-34, 0x1.3198a2e000000p-69, 0x1.b839a252049c1p-104};

/// The first 1280 bits of 2/pi after the binary point, highest first.
inline constexpr std::uint64_t two_over_pi[] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
    0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
    0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d};

} // namespace teeny::compiler::coefficients
