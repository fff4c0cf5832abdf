	.text
	.file	"weft"
	.section	.rodata.cst32,"aM",@progbits,32
	.p2align	5, 0x0
.LCPI0_0:
	.long	1
	.long	3
	.long	5
	.long	7
	.long	9
	.long	11
	.long	13
	.long	15
.LCPI0_2:
	.long	0
	.long	2
	.long	4
	.long	6
	.long	8
	.long	10
	.long	12
	.long	14
	.section	.rodata.cst8,"aM",@progbits,8
	.p2align	3, 0x0
.LCPI0_1:
	.quad	12
.LCPI0_6:
	.byte	1
	.byte	3
	.byte	5
	.byte	7
	.byte	9
	.byte	11
	.byte	13
	.byte	15
.LCPI0_7:
	.byte	0
	.byte	2
	.byte	4
	.byte	6
	.byte	8
	.byte	10
	.byte	12
	.byte	14
	.section	.rodata.cst4,"aM",@progbits,4
	.p2align	2, 0x0
.LCPI0_3:
	.long	0x3f800000
.LCPI0_4:
	.long	0x80000000
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
.LCPI0_5:
	.long	0
	.long	16
	.long	1
	.long	17
	.long	2
	.long	18
	.long	3
	.long	19
	.long	12
	.long	28
	.long	13
	.long	29
	.long	14
	.long	30
	.long	15
	.long	31
	.text
	.globl	weft_k_spring_forces
	.p2align	4, 0x90
	.type	weft_k_spring_forces,@function
weft_k_spring_forces:
	pushq	%rbp
	movq	%rsp, %rbp
	pushq	%r15
	pushq	%r14
	pushq	%r13
	pushq	%r12
	pushq	%rbx
	andq	$-64, %rsp
	subq	$2688, %rsp
	movq	%rsi, %r14
	movq	%rdi, %rsi
	movq	(%rdx), %rax
	movq	8(%rdx), %rcx
	movq	16(%rdx), %rdi
	movq	%rdi, 40(%rsp)
	movq	88(%rdx), %r9
	movq	176(%rdx), %rdi
	movq	%rdi, 48(%rsp)
	movq	184(%rdx), %r11
	vmovss	264(%rdx), %xmm0
	movq	280(%rdx), %rbx
	movq	288(%rdx), %rdx
	movq	%rdx, 32(%rsp)
	movq	%r14, %rdi
	subq	%rsi, %rdi
	leaq	7(%rdi), %rdx
	testq	%rdi, %rdi
	cmovnsq	%rdi, %rdx
	andq	$-8, %rdx
	subq	%rdx, %rdi
	movq	%r14, 24(%rsp)
	movq	%rdi, 56(%rsp)
	subq	%rdi, %r14
	cmpq	%rsi, %r14
	jle	.LBB0_6
	movq	40(%rsp), %rdx
	leaq	(,%rdx,4), %rdx
	leaq	(%rdx,%rdx,2), %rdx
	vpbroadcastq	%rdx, %zmm1
	leaq	8(%rax), %r12
	vbroadcastss	%xmm0, %ymm2
	movq	32(%rsp), %rdx
	leaq	(,%rdx,4), %rdx
	leaq	(%rdx,%rdx,2), %rdx
	vpbroadcastq	%rdx, %zmm3
	leaq	8(%rbx), %r13
	xorl	%r15d, %r15d
	vpmovsxbd	.LCPI0_6(%rip), %ymm4
	vpbroadcastq	.LCPI0_1(%rip), %zmm5
	vpmovsxbd	.LCPI0_7(%rip), %ymm6
	vxorps	%xmm7, %xmm7, %xmm7
	vbroadcastss	.LCPI0_3(%rip), %ymm8
	vbroadcastss	.LCPI0_4(%rip), %ymm9
	vmovaps	.LCPI0_5(%rip), %zmm10
	vbroadcastss	.LCPI0_4(%rip), %zmm11
	xorl	%edx, %edx
	movq	48(%rsp), %r8
	jmp	.LBB0_2
	.p2align	4, 0x90
.LBB0_24:
	xorl	%r15d, %r15d
.LBB0_25:
	cmpq	%r14, %rsi
	jge	.LBB0_6
.LBB0_2:
	movq	%rsi, %rdi
	shlq	$32, %rdi
	movq	%rdi, %r10
	sarq	$29, %r10
	vmovdqu64	(%r9,%r10), %zmm13
	vmovdqu	32(%r9,%r10), %ymm12
	vmovdqa	%ymm13, %ymm14
	vpermt2d	%ymm12, %ymm4, %ymm14
	vpmovzxdq	%ymm14, %zmm12
	vpmovd2m	%ymm14, %k1
	vpmuldq	%zmm5, %zmm12, %zmm12
	vpxor	%xmm14, %xmm14, %xmm14
	vpxor	%xmm15, %xmm15, %xmm15
	vxorps	%xmm16, %xmm16, %xmm16
	testq	%rbx, %rbx
	je	.LBB0_4
	vmovdqa64	%zmm12, %zmm17
	vpaddq	%zmm3, %zmm12, %zmm17 {%k1}
	vpxor	%xmm14, %xmm14, %xmm14
	kxnorw	%k0, %k0, %k2
	vgatherqpd	(%rbx,%zmm17), %zmm14 {%k2}
	vpxor	%xmm15, %xmm15, %xmm15
	vpermd	%zmm14, %zmm4, %zmm15
	vpermd	%zmm14, %zmm6, %zmm14
	kxnorw	%k0, %k0, %k2
	vgatherqps	(%r13,%zmm17), %ymm16 {%k2}
.LBB0_4:
	vpmovqd	%zmm13, %ymm17
	vpmovd2m	%ymm17, %k2
	vpmuldq	%zmm5, %zmm13, %zmm13
	testq	%rbx, %rbx
	je	.LBB0_5
	vmovdqa64	%zmm13, %zmm20
	vpaddq	%zmm3, %zmm13, %zmm20 {%k2}
	vpxord	%xmm17, %xmm17, %xmm17
	kxnorw	%k0, %k0, %k3
	vgatherqpd	(%rbx,%zmm20), %zmm17 {%k3}
	vpxord	%xmm19, %xmm19, %xmm19
	vpermd	%zmm17, %zmm4, %zmm19
	vpermd	%zmm17, %zmm6, %zmm17
	vxorps	%xmm18, %xmm18, %xmm18
	kxnorw	%k0, %k0, %k3
	vgatherqps	(%r13,%zmm20), %ymm18 {%k3}
	jmp	.LBB0_13
	.p2align	4, 0x90
.LBB0_5:
	vpxord	%xmm17, %xmm17, %xmm17
	vpxord	%xmm19, %xmm19, %xmm19
	vxorps	%xmm18, %xmm18, %xmm18
.LBB0_13:
	vpaddq	%zmm1, %zmm12, %zmm12 {%k1}
	vxorpd	%xmm21, %xmm21, %xmm21
	kxnorw	%k0, %k0, %k1
	vgatherqpd	(%rax,%zmm12), %zmm21 {%k1}
	vxorps	%xmm22, %xmm22, %xmm22
	kxnorw	%k0, %k0, %k1
	vgatherqps	(%r12,%zmm12), %ymm22 {%k1}
	vpaddq	%zmm1, %zmm13, %zmm13 {%k2}
	vxorpd	%xmm23, %xmm23, %xmm23
	kxnorw	%k0, %k0, %k1
	vgatherqpd	(%rax,%zmm13), %zmm23 {%k1}
	vsubps	%ymm16, %ymm18, %ymm18
	vsubps	%ymm15, %ymm19, %ymm19
	vsubps	%ymm14, %ymm17, %ymm20
	vxorps	%xmm14, %xmm14, %xmm14
	kxnorw	%k0, %k0, %k1
	vgatherqps	(%r12,%zmm13), %ymm14 {%k1}
	sarq	$30, %rdi
	vsubps	%zmm23, %zmm21, %zmm17
	vsubps	%ymm14, %ymm22, %ymm14
	vpxor	%xmm15, %xmm15, %xmm15
	vpermd	%zmm17, %zmm4, %zmm15
	vpxord	%xmm16, %xmm16, %xmm16
	vpermd	%zmm17, %zmm6, %zmm16
	vmulps	%zmm17, %zmm17, %zmm17
	vpxord	%xmm21, %xmm21, %xmm21
	vpermd	%zmm17, %zmm6, %zmm21
	vfmadd231ps	%ymm15, %ymm15, %ymm21
	vfmadd231ps	%ymm14, %ymm14, %ymm21
	vcmpeqps	%ymm7, %ymm21, %k1
	vblendmps	.LCPI0_3(%rip){1to8}, %ymm21, %ymm17 {%k1}
	vsqrtps	%ymm17, %ymm17
	vblendmps	%ymm21, %ymm17, %ymm25 {%k1}
	vdivps	%ymm25, %ymm16, %ymm23
	vdivps	%ymm25, %ymm15, %ymm21
	vsubps	(%r8,%rdi), %ymm25, %ymm26
	vdivps	%ymm25, %ymm14, %ymm22
	vmulps	%ymm23, %ymm20, %ymm24
	vfmadd231ps	%ymm21, %ymm19, %ymm24
	vfmadd231ps	%ymm22, %ymm18, %ymm24
	vmulps	%ymm2, %ymm24, %ymm24
	testq	%r11, %r11
	je	.LBB0_15
	vmovups	(%r11,%rdi), %ymm27
	vsubps	%ymm24, %ymm27, %ymm27
	vmovups	%ymm27, (%r11,%rdi)
.LBB0_15:
	vmulps	%ymm26, %ymm2, %ymm26
	vmulps	%ymm26, %ymm20, %ymm20
	vmulps	%ymm26, %ymm19, %ymm19
	vmulps	%ymm26, %ymm18, %ymm18
	vdivps	%ymm25, %ymm8, %ymm25
	vmulps	%ymm25, %ymm20, %ymm26
	vmulps	%ymm25, %ymm19, %ymm27
	vmulps	%ymm25, %ymm18, %ymm28
	vcmpeqps	%ymm7, %ymm20, %k2
	vcmpeqps	%ymm7, %ymm19, %k2 {%k2}
	vcmpeqps	%ymm7, %ymm18, %k2 {%k2}
	vmovaps	%ymm7, %ymm26 {%k2}
	vmovaps	%ymm7, %ymm27 {%k2}
	vmovaps	%ymm7, %ymm28 {%k2}
	vmulps	%ymm23, %ymm20, %ymm20
	vfmadd213ps	%ymm20, %ymm19, %ymm21
	vfmadd213ps	%ymm21, %ymm18, %ymm22
	vxorps	%ymm9, %ymm22, %ymm18
	vmulps	%ymm18, %ymm25, %ymm18
	vmovaps	%ymm7, %ymm18 {%k2}
	vaddps	%ymm18, %ymm24, %ymm18
	vmovaps	%ymm18, %ymm19 {%k1} {z}
	vmovaps	%ymm7, %ymm18 {%k1}
	vaddps	%ymm17, %ymm17, %ymm17
	vcmpeqps	%ymm7, %ymm18, %k0
	korb	%k0, %k1, %k0
	knotb	%k0, %k1
	vdivps	%ymm17, %ymm18, %ymm17 {%k1} {z}
	vaddps	%ymm17, %ymm19, %ymm17
	vmulps	%ymm17, %ymm16, %ymm16
	vmulps	%ymm17, %ymm15, %ymm15
	vmulps	%ymm17, %ymm14, %ymm14
	vaddps	%ymm16, %ymm26, %ymm17
	vaddps	%ymm15, %ymm27, %ymm18
	vaddps	%ymm14, %ymm28, %ymm19
	vaddps	%ymm16, %ymm17, %ymm16
	vaddps	%ymm15, %ymm18, %ymm17
	vaddps	%ymm14, %ymm19, %ymm14
	vpbroadcastq	%rcx, %zmm15
	testq	%rcx, %rcx
	je	.LBB0_17
	vxorps	%ymm11, %ymm14, %ymm18
	vinsertf64x4	$1, %ymm17, %zmm17, %zmm19
	vinsertf64x4	$1, %ymm16, %zmm16, %zmm20
	vpermt2ps	%zmm19, %zmm10, %zmm20
	vxorps	%zmm11, %zmm20, %zmm19
	movq	%rdx, %rdi
	shlq	$6, %rdi
	vmovups	%zmm19, 1088(%rsp,%rdi)
	vpaddq	%zmm13, %zmm15, %zmm13
	movq	%rdx, %r10
	shlq	$5, %r10
	vmovups	%ymm18, 64(%rsp,%r10)
	vmovdqu64	%zmm13, 576(%rsp,%rdi)
	incq	%rdx
.LBB0_17:
	testq	%rcx, %rcx
	je	.LBB0_19
	vinsertf64x4	$1, %ymm17, %zmm17, %zmm13
	vinsertf64x4	$1, %ymm16, %zmm16, %zmm16
	vpermt2ps	%zmm13, %zmm10, %zmm16
	movq	%r15, %rdi
	shlq	$6, %rdi
	vmovups	%zmm16, 2112(%rsp,%rdi)
	vpaddq	%zmm12, %zmm15, %zmm12
	movq	%r15, %r10
	shlq	$5, %r10
	vmovups	%ymm14, 320(%rsp,%r10)
	vmovdqu64	%zmm12, 1600(%rsp,%rdi)
	incq	%r15
.LBB0_19:
	addq	$8, %rsi
	cmpq	%r14, %rsi
	setl	%dil
	cmpq	$8, %rdx
	setne	%r10b
	testb	%r10b, %dil
	jne	.LBB0_22
	addq	%rdx, %rdx
	je	.LBB0_21
	movl	$12, %edi
	.p2align	4, 0x90
.LBB0_27:
	movq	552(%rsp,%rdi,2), %r10
	vmovsd	1064(%rsp,%rdi,2), %xmm12
	vmovsd	(%r10), %xmm13
	vaddps	%xmm12, %xmm13, %xmm12
	vmovlps	%xmm12, (%r10)
	vmovss	8(%r10), %xmm12
	vaddss	52(%rsp,%rdi), %xmm12, %xmm12
	vmovss	%xmm12, 8(%r10)
	movq	560(%rsp,%rdi,2), %r10
	vmovsd	1072(%rsp,%rdi,2), %xmm12
	vmovsd	(%r10), %xmm13
	vaddps	%xmm12, %xmm13, %xmm12
	vmovlps	%xmm12, (%r10)
	vmovss	8(%r10), %xmm12
	vaddss	56(%rsp,%rdi), %xmm12, %xmm12
	vmovss	%xmm12, 8(%r10)
	movq	568(%rsp,%rdi,2), %r10
	vmovsd	1080(%rsp,%rdi,2), %xmm12
	vmovsd	(%r10), %xmm13
	vaddps	%xmm12, %xmm13, %xmm12
	vmovlps	%xmm12, (%r10)
	vmovss	8(%r10), %xmm12
	vaddss	60(%rsp,%rdi), %xmm12, %xmm12
	vmovss	%xmm12, 8(%r10)
	movq	576(%rsp,%rdi,2), %r10
	vmovsd	1088(%rsp,%rdi,2), %xmm12
	vmovsd	(%r10), %xmm13
	vaddps	%xmm12, %xmm13, %xmm12
	vmovlps	%xmm12, (%r10)
	vmovss	8(%r10), %xmm12
	vaddss	64(%rsp,%rdi), %xmm12, %xmm12
	vmovss	%xmm12, 8(%r10)
	addq	$16, %rdi
	decq	%rdx
	jne	.LBB0_27
.LBB0_21:
	xorl	%edx, %edx
.LBB0_22:
	cmpq	%r14, %rsi
	setge	%dil
	cmpq	$8, %r15
	sete	%r10b
	orb	%dil, %r10b
	je	.LBB0_25
	addq	%r15, %r15
	je	.LBB0_24
	movl	$12, %edi
	.p2align	4, 0x90
.LBB0_29:
	movq	1576(%rsp,%rdi,2), %r10
	vmovsd	2088(%rsp,%rdi,2), %xmm12
	vmovsd	(%r10), %xmm13
	vaddps	%xmm12, %xmm13, %xmm12
	vmovlps	%xmm12, (%r10)
	vmovss	8(%r10), %xmm12
	vaddss	308(%rsp,%rdi), %xmm12, %xmm12
	vmovss	%xmm12, 8(%r10)
	movq	1584(%rsp,%rdi,2), %r10
	vmovsd	2096(%rsp,%rdi,2), %xmm12
	vmovsd	(%r10), %xmm13
	vaddps	%xmm12, %xmm13, %xmm12
	vmovlps	%xmm12, (%r10)
	vmovss	8(%r10), %xmm12
	vaddss	312(%rsp,%rdi), %xmm12, %xmm12
	vmovss	%xmm12, 8(%r10)
	movq	1592(%rsp,%rdi,2), %r10
	vmovsd	2104(%rsp,%rdi,2), %xmm12
	vmovsd	(%r10), %xmm13
	vaddps	%xmm12, %xmm13, %xmm12
	vmovlps	%xmm12, (%r10)
	vmovss	8(%r10), %xmm12
	vaddss	316(%rsp,%rdi), %xmm12, %xmm12
	vmovss	%xmm12, 8(%r10)
	movq	1600(%rsp,%rdi,2), %r10
	vmovsd	2112(%rsp,%rdi,2), %xmm12
	vmovsd	(%r10), %xmm13
	vaddps	%xmm12, %xmm13, %xmm12
	vmovlps	%xmm12, (%r10)
	vmovss	8(%r10), %xmm12
	vaddss	320(%rsp,%rdi), %xmm12, %xmm12
	vmovss	%xmm12, 8(%r10)
	addq	$16, %rdi
	decq	%r15
	jne	.LBB0_29
	jmp	.LBB0_24
.LBB0_6:
	cmpq	24(%rsp), %r14
	jge	.LBB0_36
	movq	24(%rsp), %rdx
	shlq	$32, %rdx
	movq	56(%rsp), %rsi
	shlq	$32, %rsi
	subq	%rsi, %rdx
	vpxor	%xmm1, %xmm1, %xmm1
	vmovss	.LCPI0_3(%rip), %xmm2
	vbroadcastss	.LCPI0_4(%rip), %xmm3
	jmp	.LBB0_8
	.p2align	4, 0x90
.LBB0_35:
	incq	%r14
	movabsq	$4294967296, %rsi
	addq	%rsi, %rdx
	cmpq	24(%rsp), %r14
	jge	.LBB0_36
.LBB0_8:
	movq	%rdx, %rdi
	sarq	$29, %rdi
	movslq	(%r9,%rdi), %rsi
	movslq	4(%r9,%rdi), %r10
	movq	%r10, %rdi
	sarq	$63, %rdi
	movq	40(%rsp), %r8
	andq	%r8, %rdi
	addq	%r10, %rdi
	shlq	$2, %rdi
	leaq	(%rdi,%rdi,2), %r15
	vmovss	(%rax,%r15), %xmm4
	vmovss	4(%rax,%r15), %xmm5
	vmovss	8(%rax,%r15), %xmm6
	movq	%rsi, %rdi
	sarq	$63, %rdi
	andq	%r8, %rdi
	addq	%rsi, %rdi
	shlq	$2, %rdi
	leaq	(%rdi,%rdi,2), %r12
	vsubss	(%rax,%r12), %xmm4, %xmm4
	vsubss	4(%rax,%r12), %xmm5, %xmm5
	vsubss	8(%rax,%r12), %xmm6, %xmm6
	vmulss	%xmm4, %xmm4, %xmm7
	vfmadd231ss	%xmm5, %xmm5, %xmm7
	vfmadd231ss	%xmm6, %xmm6, %xmm7
	vucomiss	%xmm1, %xmm7
	setnp	%dil
	sete	%r13b
	vxorps	%xmm8, %xmm8, %xmm8
	vxorps	%xmm9, %xmm9, %xmm9
	vxorps	%xmm10, %xmm10, %xmm10
	testq	%rbx, %rbx
	je	.LBB0_10
	testl	%r10d, %r10d
	movl	$0, %r8d
	cmovsq	32(%rsp), %r8
	addq	%r10, %r8
	leaq	(%r8,%r8,2), %r8
	vmovss	(%rbx,%r8,4), %xmm8
	vmovss	4(%rbx,%r8,4), %xmm9
	vmovss	8(%rbx,%r8,4), %xmm10
.LBB0_10:
	testq	%rbx, %rbx
	je	.LBB0_11
	testl	%esi, %esi
	movl	$0, %r8d
	cmovsq	32(%rsp), %r8
	addq	%rsi, %r8
	leaq	(%r8,%r8,2), %rsi
	vmovss	(%rbx,%rsi,4), %xmm11
	vmovd	4(%rbx,%rsi,4), %xmm12
	vmovss	8(%rbx,%rsi,4), %xmm13
	jmp	.LBB0_31
	.p2align	4, 0x90
.LBB0_11:
	vxorps	%xmm11, %xmm11, %xmm11
	vpxor	%xmm12, %xmm12, %xmm12
	vxorps	%xmm13, %xmm13, %xmm13
.LBB0_31:
	vsubss	%xmm10, %xmm13, %xmm14
	vsubss	%xmm9, %xmm12, %xmm15
	vsubss	%xmm8, %xmm11, %xmm16
	andb	%dil, %r13b
	movq	%rdx, %rsi
	sarq	$30, %rsi
	kmovd	%r13d, %k1
	vmovaps	%xmm7, %xmm8
	vmovss	.LCPI0_3(%rip), %xmm8 {%k1}
	vsqrtss	%xmm8, %xmm8, %xmm8
	vmovaps	%xmm8, %xmm13
	vmovss	%xmm7, %xmm13, %xmm13 {%k1}
	vdivss	%xmm13, %xmm4, %xmm11
	vdivss	%xmm13, %xmm5, %xmm9
	movq	48(%rsp), %rdi
	vsubss	(%rdi,%rsi), %xmm13, %xmm17
	vdivss	%xmm13, %xmm6, %xmm10
	vmulss	%xmm11, %xmm16, %xmm12
	vfmadd231ss	%xmm9, %xmm15, %xmm12
	vfmadd231ss	%xmm10, %xmm14, %xmm12
	vmulss	%xmm0, %xmm12, %xmm12
	testq	%r11, %r11
	je	.LBB0_33
	vmovss	(%r11,%rsi), %xmm18
	vsubss	%xmm12, %xmm18, %xmm18
	vmovss	%xmm18, (%r11,%rsi)
.LBB0_33:
	testq	%rcx, %rcx
	je	.LBB0_35
	vmulss	%xmm17, %xmm0, %xmm17
	vmulss	%xmm17, %xmm16, %xmm16
	vmulss	%xmm17, %xmm15, %xmm15
	vucomiss	%xmm1, %xmm7
	setnp	%dil
	sete	%sil
	vmulss	%xmm17, %xmm14, %xmm7
	andb	%dil, %sil
	vcmpeqps	%xmm1, %xmm16, %k1
	vucomiss	%xmm1, %xmm7
	setnp	%dil
	vcmpeqps	%xmm1, %xmm15, %k0 {%k1}
	kmovd	%k0, %r8d
	sete	%r10b
	andb	%dil, %r10b
	andb	%r8b, %r10b
	vdivss	%xmm13, %xmm2, %xmm13
	vmulss	%xmm7, %xmm13, %xmm14
	kmovd	%r10d, %k1
	vmovss	%xmm1, %xmm14, %xmm14 {%k1}
	vmulss	%xmm11, %xmm16, %xmm11
	vfmadd213ss	%xmm11, %xmm15, %xmm9
	vfmadd213ss	%xmm9, %xmm7, %xmm10
	vxorps	%xmm3, %xmm10, %xmm7
	vmulss	%xmm7, %xmm13, %xmm7
	vmovss	%xmm1, %xmm7, %xmm7 {%k1}
	vaddss	%xmm7, %xmm12, %xmm7
	kmovd	%esi, %k2
	vmovss	%xmm7, %xmm7, %xmm9 {%k2} {z}
	vmovss	%xmm1, %xmm7, %xmm7 {%k2}
	vaddss	%xmm8, %xmm8, %xmm8
	vdivss	%xmm8, %xmm7, %xmm8
	vcmpeqss	%xmm1, %xmm7, %k3
	vmovss	%xmm1, %xmm8, %xmm8 {%k3}
	vmovss	%xmm1, %xmm8, %xmm8 {%k2}
	vaddss	%xmm8, %xmm9, %xmm7
	vmulss	%xmm7, %xmm6, %xmm6
	vaddss	%xmm6, %xmm14, %xmm8
	vaddss	%xmm6, %xmm8, %xmm6
	vmulss	%xmm13, %xmm15, %xmm8
	vmovss	%xmm1, %xmm8, %xmm8 {%k1}
	vmulss	%xmm7, %xmm5, %xmm5
	vaddss	%xmm5, %xmm8, %xmm8
	vaddss	%xmm5, %xmm8, %xmm5
	vmulss	%xmm13, %xmm16, %xmm8
	vmovss	%xmm1, %xmm8, %xmm8 {%k1}
	vmulss	%xmm7, %xmm4, %xmm4
	vaddss	%xmm4, %xmm8, %xmm7
	vaddss	%xmm4, %xmm7, %xmm4
	vmovss	(%rcx,%r12), %xmm7
	vmovss	4(%rcx,%r12), %xmm8
	vsubss	%xmm4, %xmm7, %xmm7
	vmovss	%xmm7, (%rcx,%r12)
	vsubss	%xmm5, %xmm8, %xmm7
	vmovss	%xmm7, 4(%rcx,%r12)
	vmovss	8(%rcx,%r12), %xmm7
	vsubss	%xmm6, %xmm7, %xmm7
	vmovss	%xmm7, 8(%rcx,%r12)
	vaddss	(%rcx,%r15), %xmm4, %xmm4
	vmovss	%xmm4, (%rcx,%r15)
	vaddss	4(%rcx,%r15), %xmm5, %xmm4
	vmovss	%xmm4, 4(%rcx,%r15)
	vaddss	8(%rcx,%r15), %xmm6, %xmm4
	vmovss	%xmm4, 8(%rcx,%r15)
	jmp	.LBB0_35
.LBB0_36:
	leaq	-40(%rbp), %rsp
	popq	%rbx
	popq	%r12
	popq	%r13
	popq	%r14
	popq	%r15
	popq	%rbp
	vzeroupper
	retq
.Lfunc_end0:
	.size	weft_k_spring_forces, .Lfunc_end0-weft_k_spring_forces

	.section	".note.GNU-stack","",@progbits
